package host

import (
	"fmt"
	"slices"
	"strings"
)

// A Filter selects tools of a server by their own names. In a pattern '*' matches any sequence of
// bytes and '?' matches one byte.
type Filter struct {
	Allow []string // nil allows all
	Deny  []string // has precedence over Allow
}

// Check returns an error if a pattern is empty or contains a bracket, brace or backslash, so that
// no name matches it.
func (f *Filter) Check() error {
	for _, pattern := range append(append([]string(nil), f.Allow...), f.Deny...) {
		if pattern == "" {
			return fmt.Errorf("a pattern for tool names is empty")
		}
		if strings.ContainsAny(pattern, "[]{}\\") {
			return fmt.Errorf(
				"the pattern %.100q has characters that no tool name has: only '*' and '?' are special",
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

// And returns a filter that passes only tools that both f and g pass. It may omit tools that both
// pass: of the Allow patterns it keeps those that a pattern of the other filter covers, so a name
// that matches two merely overlapping patterns does not pass.
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
			// match would let '?' match the '*', which stands for any number of bytes.
			return wide == pattern
		}
		return match(wide, pattern)
	})
}

// match reports whether pattern matches name. It takes time proportional to the product of their
// lengths.
func match(pattern, name string) bool {
	// star is the index of the latest '*', which matches the name up to back.
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
