package tap

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Redaction replaces the values of members with these names, except in schemas: redactedMembers in
// all messages, redactedFromClient in messages of the client. They hold user data or secrets.
var (
	redactedMembers    = []string{"_meta", "headers", "env", "requestState"}
	redactedFromClient = []string{"arguments", "argument", "inputResponses", "content"}
	schemaMembers      = []string{"inputSchema", "outputSchema", "requestedSchema"}
)

// A redactor replaces values by their type, their length and a digest. The digest is keyed with a
// random key that is not kept: equal values in one recording have equal digests, but nobody can
// verify a guessed value.
type redactor struct{ key []byte }

func newRedactor() *redactor {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &redactor{key}
}

// frame appends a JSON frame with its secret values replaced.
func (r *redactor) frame(dst, text []byte, from Direction) []byte {
	switch text = text[jsonscan.Space(text, 0):]; text[0] {
	case '{':
		return mapObject(dst, text, func(dst []byte, name string, value []byte) []byte {
			switch {
			case slices.Contains(schemaMembers, name):
				return append(dst, value...)
			case slices.Contains(redactedMembers, name) || from == FromClient &&
				slices.Contains(redactedFromClient, name):
				return r.memberValues(dst, value)
			}
			return r.frame(dst, value, from)
		})
	case '[':
		dst = append(dst, '[')
		for element := range jsonscan.Elements(text) {
			dst = append(r.frame(dst, element, from), ',')
		}
		return closeList(dst, '[', ']')
	}
	return append(dst, text...)
}

// memberValues appends an object with the values of its members replaced. It replaces a value that
// is not an object as a whole.
func (r *redactor) memberValues(dst, text []byte) []byte {
	if text[0] == '{' {
		return mapObject(dst, text, func(dst []byte, _ string, value []byte) []byte {
			return r.value(dst, value)
		})
	}
	return r.value(dst, text)
}

// value appends the replacement of a value: a string such as "string(5) 2cf24dba5fb0a30e".
func (r *redactor) value(dst, value []byte) []byte {
	kind, length := "number", len(value)
	switch value[0] {
	case '"':
		text, _ := jsonscan.Unquote(value)
		kind, length = "string", len(text)
	case '{':
		kind, length = "object", 0
		for range jsonscan.Members(value) {
			length++
		}
	case '[':
		kind, length = "array", 0
		for range jsonscan.Elements(value) {
			length++
		}
	case 't', 'f':
		kind = "boolean"
	case 'n':
		return append(dst, "null"...)
	}
	return jsonscan.AppendString(dst, r.text(kind, length, value))
}

// text returns the replacement of a value of a type and length.
func (r *redactor) text(kind string, length int, value []byte) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write(value)
	const digestLength = 8
	return fmt.Sprintf("%s(%d) %x", kind, length, mac.Sum(nil)[:digestLength])
}

// digest returns the replacement of the digest of a truncated frame, and "" for "".
func (r *redactor) digest(sum string) string {
	if sum == "" {
		return ""
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(sum))
	return hex.EncodeToString(mac.Sum(nil))
}

// mapObject appends an object. It replaces each value with the output of the function value.
func mapObject(dst, text []byte, value func(dst []byte, name string, value []byte) []byte) []byte {
	dst = append(dst, '{')
	for token, v := range jsonscan.Members(text) {
		name, _ := jsonscan.Text(token)
		dst = append(append(dst, token...), ':')
		dst = append(value(dst, name, v), ',')
	}
	return closeList(dst, '{', '}')
}

// closeList ends an object or array whose elements each have a comma after them.
func closeList(dst []byte, opening, closing byte) []byte {
	if last := len(dst) - 1; dst[last] != opening {
		dst = dst[:last]
	}
	return append(dst, closing)
}
