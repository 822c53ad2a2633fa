package mcp

// MaxCompletions is the largest number of values in a completion.
const MaxCompletions = 100

// The values of [CompleteReference.Type].
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// A CompleteReference names the prompt, by Name, or the resource template, by URI, whose argument
// is completed (MCP 2026-07-28, Completion, "Reference Types").
type CompleteReference struct {
	Type  string `json:"type"`            // RefPrompt or RefResource
	Name  string `json:"name,omitempty"`  // of RefPrompt
	Title string `json:"title,omitempty"` // of RefPrompt, since 2025-06-18
	URI   string `json:"uri,omitempty"`   // of RefResource: a URI or a URI template
}

// CompleteParams are the params of completion/complete.
type CompleteParams struct {
	Params
	Ref      CompleteReference `json:"ref"`
	Argument CompleteArgument  `json:"argument"`
	Context  *CompleteContext  `json:"context,omitempty"` // since 2025-06-18
}

// A CompleteArgument is the argument to complete and what the user has typed so far.
type CompleteArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A CompleteContext holds the arguments that already have a value.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// CompleteResult is the result of completion/complete.
type CompleteResult struct {
	Result
	Completion Completion `json:"completion"`
}

// A Completion lists possible values, the most likely first; at most [MaxCompletions].
type Completion struct {
	Values []string `json:"values"`
	// number of possible values, including those not in Values
	Total   *int64 `json:"total,omitempty"`
	HasMore bool   `json:"hasMore,omitempty"`
	Extra   Extra  `json:"-" unknown:"keep"`
}
