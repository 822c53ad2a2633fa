package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	// separator stands between a server's ID and the name of what it offers. Nothing is ever split
	// at it: what a name stands for is looked up.
	separator = "__"
	// DefaultMaxName is how long the names of tools and prompts are at most, unless it is said:
	// what models take.
	DefaultMaxName = 64
	// hashDigits is how many bytes say which name it was that was too long.
	hashDigits = 6
)

// CheckID reports, as nil or an error, whether a server may have that ID: 1 to 32 letters, digits,
// '.', '_' and '-', beginning with a letter or digit, and without "__", which separates it from the
// names of its tools.
func CheckID(id string) error {
	switch {
	case !idPattern.MatchString(id):
		return fmt.Errorf(
			"the server ID %.50q is not 1 to 32 letters, digits, '.', '_' and '-', beginning with a letter or digit",
			id)
	case strings.Contains(id, separator):
		return fmt.Errorf(
			"the server ID %q has %q in it, which separates it from the names of its tools", id,
			separator)
	}
	return nil
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// PublicName is what a tool or prompt of a server is called among those of all servers:
// "files__read". Characters that names should not have become '_'. A name that is too long is cut,
// and ends with six digits that tell it from others that are cut at the same place; it is the same
// every time.
func PublicName(id, name string, most int) string {
	return truncateName(sanitizeName(id+separator+name), id+separator+name, most)
}

// sanitizeName is a name with '_' for the characters that it should not have.
func sanitizeName(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
			c == '-' || c == '.' {
			return c
		}
		return '_'
	}, name)
}

// truncateName is a name that is not too long, and differs from those of other things that are cut
// at the same place.
func truncateName(name, of string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(of))
	return name[:most-hashDigits-1] + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}

// maxOperationName is how long the names of operations are at most.
const maxOperationName = 128

// ServiceName is what a server is called among the services of a catalog: its ID, with '_' for the
// dots.
func ServiceName(id string) string { return strings.ReplaceAll(id, ".", "_") }

// OperationName is what a tool of a server is called as an operation of a catalog: "files.read".
// What stands before the dot is its [Service]. Characters that the names of operations do not have
// become '_', and so do the dots of a tool's name, if there is nothing between two of them. A name
// that is too long is cut as that of [PublicName].
func OperationName(id, name string) string {
	action := sanitizeName(name)
	if slices.Contains(strings.Split(action, "."), "") {
		action = cmp.Or(strings.ReplaceAll(action, ".", "_"), "_")
	}
	return truncateName(ServiceName(id)+"."+action, id+separator+name, maxOperationName)
}

// A Filter says which of a server's tools there are, by the names that the server gives them. A
// pattern is a name in which '*' stands for any characters and '?' for one.
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
			return fmt.Errorf(
				"the pattern %.100q has characters that no tool's name has: only '*' and '?' mean something",
				pattern)
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

// And returns a filter of which every tool passes f and g. It is g if that passes nothing that f
// does not. Of two sets of patterns that only overlap, what is in both is left out if no pattern
// says it.
func (f Filter) And(g Filter) Filter {
	both := Filter{Allow: g.Allow, Deny: g.Deny}
	for _, pattern := range f.Deny {
		if !slices.Contains(g.Deny, pattern) {
			both.Deny = append(slices.Clip(both.Deny), pattern)
		}
	}
	switch {
	case f.Allow == nil:
	case g.Allow == nil:
		both.Allow = f.Allow
	default:
		both.Allow = []string{}
		for _, pattern := range g.Allow {
			if coveredBy(f.Allow, pattern) {
				both.Allow = append(both.Allow, pattern)
			}
		}
		for _, pattern := range f.Allow {
			if coveredBy(g.Allow, pattern) && !coveredBy(both.Allow, pattern) {
				both.Allow = append(both.Allow, pattern)
			}
		}
	}
	return both
}

// coveredBy reports whether one of the patterns is sure to match every name that another pattern
// matches.
func coveredBy(patterns []string, pattern string) bool {
	return slices.ContainsFunc(patterns, func(wide string) bool {
		if strings.Contains(wide, "?") && strings.Contains(pattern, "*") {
			// which may stand for less or more than one character
			return wide == pattern
		}
		return match(wide, pattern)
	})
}

// match takes time in proportion to the product of both lengths.
func match(pattern, name string) bool {
	// the latest '*', and up to where of the name that has been taken to match it
	star, back := -1, 0
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
