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

// ambiguous is the value of a pointer of which readers may find different values, or none. It is no
// JSON.
var ambiguous = []byte("?")

// in returns the value in valid JSON, or nil if there is none. It is ambiguous if it is a member of
// an object of which another member has the same name or one that differs in case, or if it would
// be in a value that is neither an object nor an array.
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
		case 'n': // null is as good as absent
			return nil
		default:
			return ambiguous
		}
	}
	return trim(value)
}

func member(object []byte, name string) (found []byte) {
	for token, value := range jsonscan.Members(object) {
		if jsonscan.KeyIs(token, name) {
			if found != nil {
				return ambiguous
			}
			found = value
			continue
		}
		// a name has at most 6 bytes for each of its characters, and folding changes no number
		if len(token) > 6*len(name)+2 {
			continue
		}
		if other, _ := jsonscan.Text(token); strings.EqualFold(other, name) {
			return ambiguous
		}
	}
	return found
}

func element(array []byte, index string) []byte {
	n, ok := jsonscan.Uint([]byte(index), 31)
	if !ok || len(index) > 1 && index[0] == '0' {
		return ambiguous
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
