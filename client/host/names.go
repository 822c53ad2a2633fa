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
	// separator joins the ID of a server and a name. Names are never split at it; they are looked
	// up.
	separator = "__"
	// DefaultMaxName is the default maximum length of the names of tools and prompts, which models
	// accept.
	DefaultMaxName = 64
	// hashDigits is the number of digits that distinguish truncated names.
	hashDigits = 6
)

// CheckID returns an error unless id is a valid server ID: 1 to 32 letters, digits, '.', '_' and
// '-', beginning with a letter or digit, and without "__", which separates it from the names of
// tools.
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

// PublicName returns the name of a tool or prompt of a server among those of all servers, such as
// "files__read". Characters that names must not have become '_'. A name longer than most is
// truncated and ends with six digits that distinguish it from others with the same beginning. The
// result is always the same.
func PublicName(id, name string, maxLen int) string {
	return truncateName(sanitizeName(id+separator+name), id+separator+name, maxLen)
}

// sanitizeName replaces characters that a name must not have by '_'.
func sanitizeName(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' ||
			c == '-' || c == '.' {
			return c
		}
		return '_'
	}, name)
}

// truncateName truncates a name and appends a digest of of, which distinguishes it from other
// truncated names.
func truncateName(name, hashed string, maxLen int) string {
	if len(name) <= maxLen {
		return name
	}
	sum := sha256.Sum256([]byte(hashed))
	return name[:maxLen-hashDigits-1] + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}

// maxOperationName is the maximum length of the name of an operation.
const maxOperationName = 128

// ServiceName returns the name of a server among the services of a catalog: its ID with '_' for
// dots.
func ServiceName(id string) string { return strings.ReplaceAll(id, ".", "_") }

// OperationName returns the name of a tool as an operation of a catalog, such as "files.read". The
// part before the dot is the [ServiceName]. Characters that names of operations must not have
// become '_', and so do the dots of a tool's name if nothing is between two of them. A long name is
// truncated as by [PublicName].
func OperationName(id, name string) string {
	action := sanitizeName(name)
	if slices.Contains(strings.Split(action, "."), "") {
		action = cmp.Or(strings.ReplaceAll(action, ".", "_"), "_")
	}
	return truncateName(ServiceName(id)+"."+action, id+separator+name, maxOperationName)
}

// A Filter selects tools of a server by the names that the server gives them. In a pattern '*'
// matches any characters and '?' one.
type Filter struct {
	Allow []string // nil allows all
	Deny  []string // has precedence over Allow
}

// Check returns an error if a pattern can match no name.
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

// Allows reports whether the filter passes a tool.
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

// And returns a filter that passes only tools that both f and g pass. It is g if g passes nothing
// that f does not. If two sets of patterns merely overlap, the result omits names that both pass
// but no pattern describes.
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

// coveredBy reports whether one of patterns certainly matches every name that pattern matches.
func coveredBy(patterns []string, pattern string) bool {
	return slices.ContainsFunc(patterns, func(wide string) bool {
		if strings.Contains(wide, "?") && strings.Contains(pattern, "*") {
			// which may stand for less or more than one character
			return wide == pattern
		}
		return match(wide, pattern)
	})
}

// match takes time proportional to the product of both lengths.
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
