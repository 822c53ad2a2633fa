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

// A Root is a JSON value in which many references are followed. It remembers what is in the objects
// and arrays that they lead through, so that each costs no more than its own length. It is for one
// goroutine.
type Root struct {
	value    []byte
	children map[*byte]map[string][]byte // by where the object or array begins
}

// NewRoot returns a root. The value must not change.
func NewRoot(value []byte) *Root { return &Root{value, map[*byte]map[string][]byte{}} }

// Pointed is the function of that name, with the root.
func (r *Root) Pointed(ref string) []byte {
	fragment, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil
	}
	value := r.value
	for _, token := range Tokens(pointer) {
		if value = r.Child(value, token); value == nil {
			return nil
		}
	}
	return value
}

// Child is the function of that name, for a value that is within the root.
func (r *Root) Child(value []byte, token string) []byte {
	if len(value) == 0 {
		return nil
	}
	children, known := r.children[&value[0]]
	if !known {
		children = map[string][]byte{}
		i := 0
		for element := range jsonscan.Elements(value) {
			children[strconv.Itoa(i)] = element
			i++
		}
		for name, member := range jsonscan.Members(value) {
			text, _ := jsonscan.Text(name)
			if _, twice := children[text]; !twice {
				children[text] = member
			}
		}
		r.children[&value[0]] = children
	}
	return children[token]
}

// Tokens splits a JSON Pointer; the empty one has none.
func Tokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = jsonscan.UnescapePointer(token)
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
