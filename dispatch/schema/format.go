package schema

import (
	"encoding/hex"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema/internal/format"
)

// A formatRule is a format that AssertFormats asserts. check reports whether a text has the format.
// words complete the message "must be …".
type formatRule struct {
	check func(text string) bool
	words string
}

// formats are the formats of Validation, section 7.3, by name, except idn-hostname, which needs
// Unicode tables that the standard library does not have.
var formats = map[string]formatRule{
	"date-time":             {format.IsDateTime, "a date and time, as 2006-01-02T15:04:05Z"},
	"date":                  {format.IsDate, "a date, as 2006-01-02"},
	"time":                  {format.IsTime, "a time with its zone, as 15:04:05Z"},
	"duration":              {format.IsDuration, "a duration, as P1DT12H"},
	"email":                 {format.IsEmail, "an email address"},
	"idn-email":             {format.IsIDNEmail, "an email address"},
	"hostname":              {format.IsHostname, "a host name"},
	"ipv4":                  {format.IsIPv4, "an IPv4 address"},
	"ipv6":                  {format.IsIPv6, "an IPv6 address"},
	"uri":                   {format.IsURI, "an absolute URI"},
	"uri-reference":         {format.IsURIReference, "a URI or a relative reference"},
	"iri":                   {format.IsIRI, "an absolute IRI"},
	"iri-reference":         {format.IsIRIReference, "an IRI or a relative reference"},
	"uri-template":          {format.IsURITemplate, "a URI template"},
	"uuid":                  {isUUID, "a UUID, as 01234567-89ab-cdef-0123-456789abcdef"},
	"json-pointer":          {isJSONPointer, "a JSON Pointer, as /name/0"},
	"relative-json-pointer": {isRelativeJSONPointer, "a relative JSON Pointer, as 1/name"},
	"regex":                 {isRegex, "a regular expression"},
}

func isUUID(text string) bool {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return false
	}
	digits := strings.ReplaceAll(text, "-", "")
	_, err := hex.DecodeString(digits)
	return err == nil && len(digits) == 32
}

// isJSONPointer checks the syntax of RFC 6901, section 3.
func isJSONPointer(text string) bool {
	if text != "" && text[0] != '/' {
		return false
	}
	for i := range len(text) {
		if text[i] == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return false
		}
	}
	return true
}

func isRelativeJSONPointer(text string) bool {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 1 && text[0] == '0' {
		return false
	}
	rest := text[digits:]
	return rest == "#" || isJSONPointer(rest)
}
