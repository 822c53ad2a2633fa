// Package lazyregexp compiles regular expressions at their first use, so that a program which never
// uses one starts faster.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. The function panics if the
// expression is invalid, and is safe for concurrent use.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
