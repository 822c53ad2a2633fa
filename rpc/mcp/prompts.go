package mcp

// A Prompt is a template of messages to a model, for users to choose (MCP 2026-07-28, Prompts,
// "Prompt").
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"` // since 2025-06-18
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	Icons       []Icon           `json:"icons,omitzero"` // since 2025-11-25
	Meta        Meta             `json:"_meta,omitzero"`
	Extra       Extra            `json:"-" unknown:"keep"`
}

// A PromptArgument is an argument of a prompt. Its value is a string.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"` // since 2025-06-18
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Extra       Extra  `json:"-" unknown:"keep"`
}

// A PromptMessage is a message of a prompt. Its content may be of any type except tool use and tool
// result.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content,omitzero"` // required; nil if the server left it out
	Extra   Extra   `json:"-" unknown:"keep"`
}

// ListPromptsResult is the result of prompts/list; the params are [ListParams].
type ListPromptsResult struct {
	Result
	Prompts    []*Prompt `json:"prompts"`
	NextCursor string    `json:"nextCursor,omitempty"`
	CacheHints
}

// GetPromptParams are the params of prompts/get.
type GetPromptParams struct {
	Params
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitzero"`
	InputAnswers
}

// GetPromptResult is the result of prompts/get, if its Type is [ResultComplete]. Otherwise see
// [InputRequiredResult].
type GetPromptResult struct {
	Result
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
}
