package mcp

import "encoding/json"

// The modes of an elicitation.
const (
	ElicitForm = "form" // the client asks the user for values
	ElicitURL  = "url"  // the client sends the user to a web page; since 2025-11-25
)

// ElicitParams are the params of elicitation/create: the server asks the user (MCP 2026-07-28,
// Elicitation).
type ElicitParams struct {
	Params
	Mode    string `json:"mode,omitempty"` // ElicitForm, ElicitURL; "" is a form
	Message string `json:"message"`
	// for a form: a JSON Schema with properties of primitive types
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty" null:"absent"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"` // for a URL, 2025-11-25
	// 2025-11-25: makes the request a task
	Task *TaskMetadata `json:"task,omitempty"`
}

// An ElicitAction is the user's response to an elicitation.
type ElicitAction string

const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline" // the user declined
	ElicitCancel  ElicitAction = "cancel"  // the user dismissed the form without a choice
)

// ElicitResult is the result of elicitation/create.
type ElicitResult struct {
	Result
	Action ElicitAction `json:"action"`
	// for an accepted form: an object that matches RequestedSchema
	Content json.RawMessage `json:"content,omitempty" null:"absent"`
}
