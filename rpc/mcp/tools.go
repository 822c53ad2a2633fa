package mcp

import "encoding/json"

// A Tool is a function of a server that a model can call (MCP 2026-07-28, Tools, "Tool").
type Tool struct {
	Name        string `json:"name"` // 1 to 128 letters, digits, '_', '-' and '.'
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// a JSON Schema with "type":"object"
	InputSchema  json.RawMessage  `json:"inputSchema,omitzero" null:"absent"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty" null:"absent"` // a JSON Schema; since 2025-06-18
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`                // since 2025-03-26
	Execution    *ToolExecution   `json:"execution,omitempty"`                  // 2025-11-25
	Icons        []Icon           `json:"icons,omitzero"`                       // since 2025-11-25
	Meta         Meta             `json:"_meta,omitzero"`
	Extra        Extra            `json:"-" unknown:"keep"`
}

// String returns the name of the tool, for fmt.
func (t *Tool) String() string {
	if t == nil {
		return "<nil>"
	}
	return t.Name
}

// DisplayName returns the name to show: the title, the title in the annotations, or the name.
func (t *Tool) DisplayName() string {
	switch {
	case t.Title != "":
		return t.Title
	case t.Annotations != nil && t.Annotations.Title != "":
		return t.Annotations.Title
	}
	return t.Name
}

// ToolAnnotations are hints about a tool. Those of an untrusted server must not be relied on. The
// methods return the specified default for a missing hint and may be called on a nil pointer.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
	Extra           Extra  `json:"-" unknown:"keep"`
}

// ReadOnly reports whether readOnlyHint is true: the tool changes nothing.
func (a *ToolAnnotations) ReadOnly() bool {
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// Destructive reports whether destructiveHint is true or absent and the tool is not read-only: it
// may undo or overwrite something.
func (a *ToolAnnotations) Destructive() bool {
	return !a.ReadOnly() && (a == nil || a.DestructiveHint == nil || *a.DestructiveHint)
}

// Idempotent reports whether idempotentHint is true or the tool is read-only: a second call with
// the same arguments has no further effect.
func (a *ToolAnnotations) Idempotent() bool {
	return a.ReadOnly() || a != nil && a.IdempotentHint != nil && *a.IdempotentHint
}

// OpenWorld reports whether openWorldHint is true or absent: the tool interacts with entities
// outside of a closed domain.
func (a *ToolAnnotations) OpenWorld() bool {
	return a == nil || a.OpenWorldHint == nil || *a.OpenWorldHint
}

// ToolExecution says how a tool may be called in 2025-11-25.
type ToolExecution struct {
	TaskSupport TaskSupport `json:"taskSupport,omitempty"` // "" means TaskForbidden
	Extra       Extra       `json:"-" unknown:"keep"`
}

// TaskSupport says whether a call of a tool may be a task (MCP 2025-11-25, Tasks, "Tool-Level
// Negotiation").
type TaskSupport string

const (
	TaskForbidden TaskSupport = "forbidden"
	TaskOptional  TaskSupport = "optional"
	TaskRequired  TaskSupport = "required"
)

// ListToolsResult is the result of tools/list; the params are [ListParams].
type ListToolsResult struct {
	Result
	Tools      []*Tool `json:"tools"`
	NextCursor string  `json:"nextCursor,omitempty"`
	CacheHints
}

// CallToolParams are the params of tools/call.
type CallToolParams struct {
	Params
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty" null:"absent"` // an object
	Task      *TaskMetadata   `json:"task,omitempty"`                    // 2025-11-25: makes the call a task
	InputAnswers
}

// CallToolResult is the result of tools/call if its Type is [ResultComplete] (MCP 2026-07-28,
// Tools, "Tool Result").
//
// A tool that fails sets IsError, so that the model can see the error. If Type is
// [ResultInputRequired] or [ResultTask], decode the same bytes into an [InputRequiredResult] or a
// [TaskResult].
type CallToolResult struct {
	Result
	Content []Content `json:"content"`
	// since 2025-06-18; before 2026-07-28 an object
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
}
