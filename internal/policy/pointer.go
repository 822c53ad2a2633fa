package policy

import (
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A pointer has the tokens of a JSON Pointer (RFC 6901).
type pointer []string

// String returns the pointer with its escapes.
func (p pointer) String() string {
	var text strings.Builder
	for _, token := range p {
		text.WriteByte('/')
		text.WriteString(jsonscan.EscapePointer(token))
	}
	return text.String()
}

// in returns the value in valid JSON, or nil if there is none or it is ambiguous. An object is
// ambiguous if another of its members has the same name or one that differs in case, because
// readers differ in which they use.
func (p pointer) in(value []byte) []byte {
	for _, token := range p {
		if value = trim(value); len(value) == 0 {
			return nil
		}
		switch value[0] {
		case '{':
			value = member(value, token)
		case '[':
			value = element(value, token)
		default:
			return nil
		}
	}
	return trim(value)
}

func member(object []byte, name string) (found []byte) {
	for token, value := range jsonscan.Members(object) {
		if jsonscan.KeyIs(token, name) {
			if found != nil {
				return nil
			}
			found = value
			continue
		}
		// a name has at most 6 bytes for each of its characters, and folding changes no number
		if len(token) > 6*len(name)+2 {
			continue
		}
		if other, _ := jsonscan.Text(token); strings.EqualFold(other, name) {
			return nil
		}
	}
	return found
}

func element(array []byte, index string) []byte {
	if len(index) > 1 && index[0] == '0' {
		return nil
	}
	n, ok := jsonscan.Uint([]byte(index), 31)
	if !ok {
		return nil
	}
	for value := range jsonscan.Elements(array) {
		if n == 0 {
			return value
		}
		n--
	}
	return nil
}

// trim returns a value without the white space before it, or nil if nothing is left.
func trim(value []byte) []byte {
	if value = value[jsonscan.Space(value, 0):]; len(value) == 0 {
		return nil
	}
	return value
}
