package mcp

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// CreateMessageParams are the params of sampling/createMessage: a request to the client's model
// (MCP 2026-07-28, Sampling).
type CreateMessageParams struct {
	Params
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	// "none", or the deprecated "thisServer", "allServers"
	IncludeContext string   `json:"includeContext,omitempty"`
	Temperature    *float64 `json:"temperature,omitempty"`
	MaxTokens      int64    `json:"maxTokens"`
	StopSequences  []string `json:"stopSequences,omitzero"`
	// an object for the model's provider
	Metadata json.RawMessage `json:"metadata,omitempty" null:"absent"`
	// since 2025-11-25; needs SamplingCapability.Tools
	Tools      []*Tool     `json:"tools,omitzero"`
	ToolChoice *ToolChoice `json:"toolChoice,omitempty"` // likewise
	// 2025-11-25: makes the request a task
	Task *TaskMetadata `json:"task,omitempty"`
}

// A SamplingMessage is a message to or from a model.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Meta    Meta            `json:"_meta,omitzero"`
	Extra   Extra           `json:"-" unknown:"keep"`
}

// SamplingContent is the content of a [SamplingMessage]. In JSON it is a block or, since
// 2025-11-25, an array of blocks. A single block is always encoded without an array, which every
// revision understands.
type SamplingContent []Content

// MarshalJSON encodes a single block as itself, and any other number of blocks as an array.
func (c SamplingContent) MarshalJSON() ([]byte, error) {
	if len(c) == 1 {
		return Marshal(&c[0])
	}
	return Marshal([]Content(c))
}

// UnmarshalJSON accepts either form.
func (c *SamplingContent) UnmarshalJSON(data []byte) error {
	if i := jsonscan.Space(data, 0); i < len(data) && data[i] == '[' {
		return Unmarshal(data, (*[]Content)(c))
	}
	one := make([]Content, 1)
	err := Unmarshal(data, &one[0])
	if err == nil {
		*c = one
	}
	return err
}

// ToolChoice says whether the model may or must use tools: Mode is "auto", "required" or "none"; ""
// means "auto".
type ToolChoice struct {
	Mode string `json:"mode,omitempty"`
}

// ModelPreferences describe the model that the server prefers. The client decides.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitzero"` // in order of preference
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
}

// A ModelHint is part of a model's name.
type ModelHint struct {
	Name  string `json:"name,omitempty"`
	Extra Extra  `json:"-" unknown:"keep"`
}

// The values of [CreateMessageResult.StopReason] that the specification defines; others are
// allowed.
const (
	StopEndTurn   = "endTurn"
	StopSequence  = "stopSequence"
	StopMaxTokens = "maxTokens"
	StopToolUse   = "toolUse"
)

// CreateMessageResult is the result of sampling/createMessage: the message of the model.
type CreateMessageResult struct {
	Result
	Role       Role            `json:"role"`
	Content    SamplingContent `json:"content"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
}
