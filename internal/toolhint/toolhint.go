// Package toolhint has the hints of tools about what their calls do, and which of them make a tool
// look safe.
package toolhint

import (
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// The hints of tools (2026-07-28, ToolAnnotations), with the value that makes a tool look safe. The
// default of each is the other value.
var safeHints = []struct {
	name string
	safe bool
	of   func(*mcp.ToolAnnotations) *bool
}{
	{"readOnlyHint", true, func(a *mcp.ToolAnnotations) *bool { return a.ReadOnlyHint }},
	{"destructiveHint", false, func(a *mcp.ToolAnnotations) *bool { return a.DestructiveHint }},
	{"idempotentHint", true, func(a *mcp.ToolAnnotations) *bool { return a.IdempotentHint }},
	{"openWorldHint", false, func(a *mcp.ToolAnnotations) *bool { return a.OpenWorldHint }},
}

// Names returns the names of the hints.
func Names() (names []string) {
	for _, h := range safeHints {
		names = append(names, h.name)
	}
	return names
}

// Weakened returns those of overridden hints that make a tool look safer than its server says, as
// in "readOnlyHint: false to true". a are the server's annotations of the tool; nil: it has none.
func Weakened(overridden map[string]bool, a *mcp.ToolAnnotations) (all []string) {
	for _, h := range safeHints {
		own := !h.safe
		if a != nil && h.of(a) != nil {
			own = *h.of(a)
		}
		if value, set := overridden[h.name]; set && value == h.safe && own != h.safe {
			all = append(all, fmt.Sprintf("%s: %t to %t", h.name, own, value))
		}
	}
	return all
}

// IsSafe reports whether this value of a hint makes a tool look safe.
func IsSafe(name string, value bool) bool {
	i := slices.Index(Names(), name)
	return i >= 0 && safeHints[i].safe == value
}
