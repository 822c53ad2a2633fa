package mcp

// The types that applications keep or pass on as JSON implement json.Marshaler and
// json.Unmarshaler by [Marshal] and [Unmarshal], so that encoding/json gives the same result:
// items, content, their results, and log messages. The others are parts of these, or messages that
// package client or server encodes: of them, Marshal and package rpc keep the members in [Extra],
// and encoding/json does not.

func (v Tool) MarshalJSON() ([]byte, error)           { return Marshal(v) }
func (v CallToolResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v Resource) MarshalJSON() ([]byte, error)           { return Marshal(v) }
func (v ResourceTemplate) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v ResourceContents) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v ReadResourceResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v Skill) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v Prompt) MarshalJSON() ([]byte, error)          { return Marshal(v) }
func (v PromptMessage) MarshalJSON() ([]byte, error)   { return Marshal(v) }
func (v GetPromptResult) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v TextContent) MarshalJSON() ([]byte, error)       { return Marshal(v) }
func (v ImageContent) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v AudioContent) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v ResourceLink) MarshalJSON() ([]byte, error)      { return Marshal(v) }
func (v EmbeddedResource) MarshalJSON() ([]byte, error)  { return Marshal(v) }
func (v ToolUseContent) MarshalJSON() ([]byte, error)    { return Marshal(v) }
func (v ToolResultContent) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v LoggingMessageParams) MarshalJSON() ([]byte, error) { return Marshal(v) }

func (v *Tool) UnmarshalJSON(data []byte) error           { return Unmarshal(data, v) }
func (v *CallToolResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *Resource) UnmarshalJSON(data []byte) error           { return Unmarshal(data, v) }
func (v *ResourceTemplate) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *ResourceContents) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *ReadResourceResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *Skill) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *Prompt) UnmarshalJSON(data []byte) error          { return Unmarshal(data, v) }
func (v *PromptMessage) UnmarshalJSON(data []byte) error   { return Unmarshal(data, v) }
func (v *GetPromptResult) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *TextContent) UnmarshalJSON(data []byte) error       { return Unmarshal(data, v) }
func (v *ImageContent) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *AudioContent) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *ResourceLink) UnmarshalJSON(data []byte) error      { return Unmarshal(data, v) }
func (v *EmbeddedResource) UnmarshalJSON(data []byte) error  { return Unmarshal(data, v) }
func (v *ToolUseContent) UnmarshalJSON(data []byte) error    { return Unmarshal(data, v) }
func (v *ToolResultContent) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }

func (v *LoggingMessageParams) UnmarshalJSON(data []byte) error { return Unmarshal(data, v) }
