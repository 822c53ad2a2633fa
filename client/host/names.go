package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

const (
	// separator stands between a server's ID and the name of what it offers. Nothing is ever split at it: what a name stands for is looked up.
	separator = "__"
	// DefaultMaxName is how long the names of tools and prompts are at most, unless it is said: what models take.
	DefaultMaxName = 64
	// mark is how many bytes say which name it was that was too long.
	mark = 6
)

// CheckID reports, as nil or an error, whether a server may have that ID: 1 to 32 letters, digits, '.', '_' and '-', beginning with a letter or digit, and without "__", which
// separates it from the names of its tools.
func CheckID(id string) error {
	switch {
	case !idPattern.MatchString(id):
		return fmt.Errorf("the server ID %.50q is not 1 to 32 letters, digits, '.', '_' and '-', beginning with a letter or digit", id)
	case strings.Contains(id, separator):
		return fmt.Errorf("the server ID %q has %q in it, which separates it from the names of its tools", id, separator)
	}
	return nil
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// PublicName is what a tool or prompt of a server is called among those of all servers: "files__read". Characters that names should not have become '_'. A name that
// is too long is cut, and ends with six digits that tell it from others that are cut at the same place; it is the same every time.
func PublicName(id, name string, most int) string {
	public := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' {
			return c
		}
		return '_'
	}, id+separator+name)
	if len(public) <= most {
		return public
	}
	sum := sha256.Sum256([]byte(id + separator + name))
	return public[:most-mark-1] + "_" + hex.EncodeToString(sum[:])[:mark]
}

// A Filter says which of a server's tools there are, by the names that the server gives them. A pattern is a name in which '*' stands for any characters and '?' for one.
type Filter struct {
	Allow []string // nil allows all
	Deny  []string // goes before Allow
}

// Check reports, as nil or an error, whether the patterns are ones that can match something.
func (f *Filter) Check() error {
	for _, pattern := range append(append([]string(nil), f.Allow...), f.Deny...) {
		if pattern == "" {
			return fmt.Errorf("a pattern for the names of tools is empty")
		}
		if strings.ContainsAny(pattern, "[]{}\\") {
			return fmt.Errorf("the pattern %.100q has characters that no tool's name has: only '*' and '?' mean something", pattern)
		}
	}
	return nil
}

// Allows reports whether a tool of that name is one that there is.
func (f *Filter) Allows(name string) bool {
	for _, pattern := range f.Deny {
		if match(pattern, name) {
			return false
		}
	}
	for _, pattern := range f.Allow {
		if match(pattern, name) {
			return true
		}
	}
	return f.Allow == nil
}

// match takes time in proportion to the product of both lengths.
func match(pattern, name string) bool {
	star, back := -1, 0 // the latest '*', and up to where of the name that has been taken to match it
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
