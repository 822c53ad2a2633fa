// Package form has what reading a JSON Schema as somebody does who fills in a form takes: where its references lead, and which of its types a
// text can be read as. All JSON must be valid.
package form

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Pointed finds what a reference in a schema such as "#/$defs/Name" leads to (RFC 6901), nil for other references.
func Pointed(root []byte, ref string) []byte {
	fragment, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil
	}
	for _, token := range Tokens(pointer) {
		if root = Child(root, token); root == nil {
			return nil
		}
	}
	return root
}

// Tokens splits a JSON Pointer; the empty one has none.
func Tokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens
}

// Child returns the member or element that a token of a JSON Pointer names, nil if there is none.
func Child(value []byte, token string) []byte {
	if n, err := strconv.Atoi(token); err == nil {
		for element := range jsonscan.Elements(value) {
			if n == 0 {
				return element
			}
			n--
		}
	}
	return jsonscan.Member(value, token)
}
