package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Overrides say how a gateway offers items of a server in place of the server's own definitions. A
// key is the own name of a tool, "prompt:" and that of a prompt, or "resource:" and a URI or URI
// template.
type Overrides map[string]Override

// Of returns the override of an item with this own name, URI or URI template.
func (o Overrides) Of(kind mcp.Kind, own string) (override Override, found bool) {
	switch kind {
	case mcp.KindTool:
	case mcp.KindPrompt:
		own = promptKey + own
	case mcp.KindResource, mcp.KindResourceTemplate:
		own = resourceKey + own
	default:
		return override, false
	}
	override, found = o[own]
	return override, found
}

const (
	promptKey   = string(mcp.KindPrompt) + ":"
	resourceKey = string(mcp.KindResource) + ":"
)

// OverrideKey returns what a key of [Overrides] stands for.
func OverrideKey(key string) (kind mcp.Kind, own string) {
	if own, ok := strings.CutPrefix(key, promptKey); ok {
		return mcp.KindPrompt, own
	}
	own, ok := strings.CutPrefix(key, resourceKey)
	switch {
	case !ok:
		return mcp.KindTool, key
	case strings.Contains(own, "{"):
		return mcp.KindResourceTemplate, own
	}
	return mcp.KindResource, own
}

// Unknown returns, sorted, the keys of items of a kind that a server with these own names does not
// have.
func (o Overrides) Unknown(kind mcp.Kind, own []string) (keys []string) {
	for key := range o {
		if k, name := OverrideKey(key); k == kind && !slices.Contains(own, name) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// An Override says what differs from a server's definition of an item. What is zero stays as the
// server has it.
type Override struct {
	Name        string // in place of the server's own name; of a resource, what is displayed
	Title       string
	Description string
	Hidden      bool     // the item is not offered
	Tags        []string // words for clients, in the member [mcp.MetaTags] of _meta
	// MaxResultSizeChars is, for a tool, the member anthropic/maxResultSizeChars of _meta: how many
	// characters of a result Claude Code shows its model.
	MaxResultSizeChars int

	// Annotations are hints of a tool by their names, such as "readOnlyHint".
	Annotations map[string]bool
	// Arguments are those of a tool by the server's own names.
	Arguments map[string]ArgumentOverride
}

// An ArgumentOverride says how an argument of a tool is offered.
type ArgumentOverride struct {
	Name        string
	Description string
	// Default is sent to the server if the caller leaves the argument out.
	Default json.RawMessage
	// Value is always sent to the server. The argument is hidden.
	Value json.RawMessage
	// Hidden says that callers neither see nor send the argument. It requires Value or Default.
	Hidden bool
}

// Fixed returns the value of a hidden argument, or nil for one that callers see.
func (a *ArgumentOverride) Fixed() json.RawMessage {
	switch {
	case a.Value != nil:
		return a.Value
	case a.Hidden:
		return a.Default
	}
	return nil
}

// Check returns an error if the members of a exclude each other or one is missing.
func (a *ArgumentOverride) Check() error {
	switch {
	case a.Value != nil && a.Default != nil:
		return errors.New("it has a value and a default; remove one of them")
	case a.Hidden && a.Value == nil && a.Default == nil:
		return errors.New(`it is hidden and has no value: add "value", which the server always gets`)
	case a.Fixed() != nil && (a.Name != "" || a.Description != ""):
		return errors.New("it is hidden, so nobody sees its name and description; remove them")
	}
	return nil
}

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

// Hints returns the names of the hints that an [Override] may set.
func Hints() (names []string) {
	for _, h := range safeHints {
		names = append(names, h.name)
	}
	return names
}

// Weakened returns the hints that make a tool look safer than its server says, as in "readOnlyHint:
// false to true". a are the server's annotations of the tool; nil: it has none.
func (o *Override) Weakened(a *mcp.ToolAnnotations) (all []string) {
	for _, h := range safeHints {
		own := !h.safe
		if a != nil && h.of(a) != nil {
			own = *h.of(a)
		}
		if value, set := o.Annotations[h.name]; set && value == h.safe && own != h.safe {
			all = append(all, fmt.Sprintf("%s: %t to %t", h.name, own, value))
		}
	}
	return all
}

// IsSafeHint reports whether this value of a hint makes a tool look safe.
func IsSafeHint(name string, value bool) bool {
	i := slices.Index(Hints(), name)
	return i >= 0 && safeHints[i].safe == value
}
