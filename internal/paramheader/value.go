package paramheader

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

const (
	sentinelOpen  = "=?base64?"
	sentinelClose = "?="
)

func isSentinel(value string) bool {
	return len(value) >= len(sentinelOpen)+len(sentinelClose) &&
		strings.HasPrefix(value, sentinelOpen) && strings.HasSuffix(value, sentinelClose)
}

// Encode returns text as the value of a header: unchanged if that is safe, and otherwise in base64
// between =?base64? and ?= (MCP 2026-07-28, Streamable HTTP, "Value Encoding"). It is for Mcp-Name
// and the headers of [Of].
func Encode(text string) string {
	// Not isSentinel: decoders differ on a value in which the two overlap.
	looksEncoded := strings.HasPrefix(text, sentinelOpen) && strings.HasSuffix(text, sentinelClose)
	if isVisibleASCII(text) && strings.Trim(text, " ") == text && !looksEncoded {
		return text
	}
	return sentinelOpen + base64.StdEncoding.EncodeToString([]byte(text)) + sentinelClose
}

// Decode is the inverse of [Encode]. It fails for characters that a header cannot have, for invalid
// base64, and for base64 of text that is not UTF-8.
func Decode(value string) (string, error) {
	if !isVisibleASCIIOrTab(value) {
		return "", errors.New("has characters that are not visible ASCII")
	}
	if !isSentinel(value) {
		return value, nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(
		value[len(sentinelOpen) : len(value)-len(sentinelClose)])
	if err != nil || !utf8.Valid(text) {
		return "", errors.New("is not valid base64 of UTF-8 text")
	}
	return string(text), nil
}

// isVisibleASCII reports whether text has only visible ASCII and spaces.
func isVisibleASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func isVisibleASCIIOrTab(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}
