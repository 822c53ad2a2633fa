package host

import "encoding/json"

// An Override says how a gateway offers an item of a server: what differs from the server's own
// definition of it. What is zero stays as the server has it. In a map of overrides, a key is the
// own name of a tool, "prompt:" and that of a prompt, or "resource:" and a URI or URI template.
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
