package mcp

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// CreateMessageParams are the params of sampling/createMessage: the server asks the client's model (MCP 2026-07-28, Sampling).
type CreateMessageParams struct {
	Params
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	IncludeContext   string            `json:"includeContext,omitempty"` // "none", or the deprecated "thisServer", "allServers"
	Temperature      *float64          `json:"temperature,omitempty"`
	MaxTokens        int64             `json:"maxTokens"`
	StopSequences    []string          `json:"stopSequences,omitzero"`
	Metadata         json.RawMessage   `json:"metadata,omitempty"`   // an object for the model's provider
	Tools            []*Tool           `json:"tools,omitzero"`       // since 2025-11-25; needs SamplingCapability.Tools
	ToolChoice       *ToolChoice       `json:"toolChoice,omitempty"` // likewise
	Task             *TaskMetadata     `json:"task,omitempty"`       // 2025-11-25: makes the request a task
}

// A SamplingMessage is a message to or from a model.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content SamplingContent `json:"content"`
	Meta    Meta            `json:"_meta,omitzero"`
	Extra   Extra           `json:"-"`
}

// SamplingContent is what a [SamplingMessage] says. In JSON it is a block or, since 2025-11-25, an array of blocks; one block
// alone is always encoded as itself, which every revision understands.
type SamplingContent []Content

// MarshalJSON writes the one form that every revision understands, if it can.
func (c SamplingContent) MarshalJSON() ([]byte, error) {
	if len(c) == 1 {
		return Marshal(&c[0])
	}
	return Marshal([]Content(c))
}

// UnmarshalJSON reads either form.
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

// ToolChoice says whether the model may or must use tools: Mode is "auto", "required" or "none"; "" is "auto".
type ToolChoice struct {
	Mode string `json:"mode,omitempty"`
}

// ModelPreferences say which model the server would like. The client decides.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitzero"` // in order: the first that fits
	CostPriority         *float64    `json:"costPriority,omitempty"`
	SpeedPriority        *float64    `json:"speedPriority,omitempty"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitempty"`
}

// A ModelHint is part of a model's name.
type ModelHint struct {
	Name  string `json:"name,omitempty"`
	Extra Extra  `json:"-"`
}

// The values of [CreateMessageResult.StopReason] that the specification knows; there may be others.
const (
	StopEndTurn   = "endTurn"
	StopSequence  = "stopSequence"
	StopMaxTokens = "maxTokens"
	StopToolUse   = "toolUse"
)

// CreateMessageResult is the result of sampling/createMessage: what the model said.
type CreateMessageResult struct {
	Result
	Role       Role            `json:"role"`
	Content    SamplingContent `json:"content"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
}
