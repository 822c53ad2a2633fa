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

// What is replaced when a recording is redacted: the values of the members of these names, wherever they are but in schemas; and of the second ones in what the client writes. They are its
// user's, or nobody's business.
var (
	always    = []string{"_meta", "headers", "env", "requestState"}
	ofClients = []string{"arguments", "argument", "inputResponses", "content"}
	schemas   = []string{"inputSchema", "outputSchema", "requestedSchema"}
)

// A redactor replaces values by their type, their length and a digest. The digest has a key that nobody else ever has, so that the same values can be seen to be the same, in one recording, and
// nothing can be tried out.
type redactor struct{ key []byte }

func newRedactor() *redactor {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &redactor{key}
}

// frame appends a frame that is JSON without the values that are not to be seen.
func (r *redactor) frame(dst, text []byte, from Direction) []byte {
	switch text = text[jsonscan.Space(text, 0):]; text[0] {
	case '{':
		return object(dst, text, func(dst []byte, name string, value []byte) []byte {
			switch {
			case slices.Contains(schemas, name):
				return append(dst, value...)
			case slices.Contains(always, name) || from == FromClient && slices.Contains(ofClients, name):
				return r.values(dst, value)
			}
			return r.frame(dst, value, from)
		})
	case '[':
		dst = append(dst, '[')
		for element := range jsonscan.Elements(text) {
			dst = append(r.frame(dst, element, from), ',')
		}
		return closed(dst, '[', ']')
	}
	return append(dst, text...)
}

// values appends the members of an object with their values replaced, or what replaces anything else.
func (r *redactor) values(dst, text []byte) []byte {
	if text[0] == '{' {
		return object(dst, text, func(dst []byte, _ string, value []byte) []byte { return r.shape(dst, value) })
	}
	return r.shape(dst, text)
}

// shape appends what replaces a value: a string such as "string(5) 2cf24dba5fb0a30e".
func (r *redactor) shape(dst, value []byte) []byte {
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

// text is what replaces a value of a type and length.
func (r *redactor) text(kind string, length int, value []byte) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write(value)
	const enough = 8
	return fmt.Sprintf("%s(%d) %x", kind, length, mac.Sum(nil)[:enough])
}

// digest is what replaces the digest of a frame that is cut; "" for one that is not.
func (r *redactor) digest(sum string) string {
	if sum == "" {
		return ""
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(sum))
	return hex.EncodeToString(mac.Sum(nil))
}

// object appends an object with its values as they are appended by value.
func object(dst, text []byte, value func(dst []byte, name string, value []byte) []byte) []byte {
	dst = append(dst, '{')
	for token, v := range jsonscan.Members(text) {
		name, _ := jsonscan.Text(token)
		dst = append(append(dst, token...), ':')
		dst = append(value(dst, name, v), ',')
	}
	return closed(dst, '{', '}')
}

// closed ends a list whose elements have a comma behind them.
func closed(dst []byte, opening, closing byte) []byte {
	if last := len(dst) - 1; dst[last] != opening {
		dst = dst[:last]
	}
	return append(dst, closing)
}
