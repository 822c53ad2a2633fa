// Package form reads a JSON Schema as a form, of properties and their types, and converts text that
// was typed for a property to JSON of its types. So flags and name=value arguments become the
// arguments of a call. All JSON that is passed to it must be valid.
package form

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Root is a JSON document in which references are resolved. It indexes the objects and arrays on
// their paths, so that resolving another reference takes time proportional to its length. It is not
// safe for concurrent use.
type Root struct {
	value    []byte
	children map[*byte]map[string][]byte // by the first byte of the object or array
}

// NewRoot returns the root of a document, which must not change.
func NewRoot(value []byte) *Root { return &Root{value, map[*byte]map[string][]byte{}} }

// resolve returns the value that a reference such as "#/$defs/Name" points to (RFC 6901), or nil
// for a reference of another form or to nothing.
func (r *Root) resolve(ref string) []byte {
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

// Child is the function [Child] for a value within the root, which it indexes.
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
		for text, member := range jsonscan.Named(value) {
			if _, twice := children[text]; !twice {
				children[text] = member
			}
		}
		r.children[&value[0]] = children
	}
	return children[token]
}

// Tokens splits a JSON Pointer. The empty pointer has no tokens.
func Tokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = jsonscan.UnescapePointer(token)
	}
	return tokens
}

// Child returns the member or element that a token of a JSON Pointer names, or nil.
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
