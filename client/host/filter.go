package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
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
			return errors.New("a pattern for tool names is empty")
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
		if itemname.Match(pattern, name) {
			return false
		}
	}
	for _, pattern := range f.Allow {
		if itemname.Match(pattern, name) {
			return true
		}
	}
	return f.Allow == nil
}
