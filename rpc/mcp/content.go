package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Content is a content block: a [*TextContent], [*ImageContent], [*AudioContent], [*ResourceLink]
// or [*EmbeddedResource], in sampling also a [*ToolUseContent] or [*ToolResultContent], or an
// [*UnknownContent]. No other type implements it, nor does a value that is not a pointer. [Text]
// returns a text.
type Content interface {
	// blockType returns the member "type" of the block's JSON.
	blockType() string
}

// newContent returns an empty block of that type. It returns an [UnknownContent] for an unknown
// type, and for one that may not be nested: a tool result cannot contain another.
func newContent(typ string, nested bool) any {
	switch typ {
	case "text":
		return new(TextContent)
	case "image":
		return new(ImageContent)
	case "audio":
		return new(AudioContent)
	case "resource_link":
		return new(ResourceLink)
	case "resource":
		return new(EmbeddedResource)
	case "tool_use":
		if !nested {
			return new(ToolUseContent)
		}
	case "tool_result":
		if !nested {
			return new(ToolResultContent)
		}
	}
	return new(UnknownContent)
}

// TextContent is text (MCP 2026-07-28, Tools, "Text Content").
type TextContent struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitzero"`
	Extra       Extra        `json:"-" unknown:"keep"`
}

// ImageContent is an image (MCP 2026-07-28, Tools, "Image Content").
type ImageContent struct {
	Data        []byte       `json:"data"` // base64 in JSON
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitzero"`
	Extra       Extra        `json:"-" unknown:"keep"`
}

// AudioContent is audio, since 2025-03-26 (MCP 2026-07-28, Tools, "Audio Content").
type AudioContent struct {
	Data        []byte       `json:"data"` // base64 in JSON
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitzero"`
	Extra       Extra        `json:"-" unknown:"keep"`
}

// A ResourceLink refers to a resource that the client may read, since 2025-06-18 (MCP 2026-07-28,
// Tools, "Resource Links").
type ResourceLink struct {
	Resource
}

// An EmbeddedResource is a resource with its contents (MCP 2026-07-28, Tools, "Embedded
// Resources").
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitempty"`
	Meta        Meta             `json:"_meta,omitzero"`
	Extra       Extra            `json:"-" unknown:"keep"`
}

// ToolUseContent is a model's request to call a tool, in sampling since 2025-11-25 (MCP 2026-07-28,
// Sampling).
type ToolUseContent struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitzero"` // required, an object: the tool's arguments
	Meta  Meta            `json:"_meta,omitzero"`
	Extra Extra           `json:"-" unknown:"keep"`
}

// ToolResultContent is the result of a [ToolUseContent].
type ToolResultContent struct {
	ToolUseID         string          `json:"toolUseId"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              Meta            `json:"_meta,omitzero"`
	Extra             Extra           `json:"-" unknown:"keep"`
}

// UnknownContent is a block of a type that this package does not know or that is not allowed in its
// place. It is encoded as it was received.
type UnknownContent struct {
	Kind string          // what Type returns
	Raw  json.RawMessage // the whole block
}

func (c *TextContent) blockType() string       { return "text" }
func (c *ImageContent) blockType() string      { return "image" }
func (c *AudioContent) blockType() string      { return "audio" }
func (c *ResourceLink) blockType() string      { return "resource_link" }
func (c *EmbeddedResource) blockType() string  { return "resource" }
func (c *ToolUseContent) blockType() string    { return "tool_use" }
func (c *ToolResultContent) blockType() string { return "tool_result" }
func (c *UnknownContent) blockType() string    { return c.Kind }

// MarshalJSON returns Raw.
func (c UnknownContent) MarshalJSON() ([]byte, error) { return jsonexact.AppendRaw(nil, c.Raw) }

// UnmarshalJSON accepts any block.
func (c *UnknownContent) UnmarshalJSON(data []byte) error {
	if err := jsonscan.Valid(data); err != nil {
		return err
	}
	kind, ok := jsonscan.Unquote(jsonscan.Member(data, "type"))
	if !ok {
		return errors.New(`a content block is an object with a string "type"`)
	}
	*c = UnknownContent{string(kind), bytes.Clone(data)}
	return nil
}

// Text returns a block of text.
func Text(text string) *TextContent { return &TextContent{Text: text} }

// Image returns a block with an image.
func Image(data []byte, mimeType string) *ImageContent {
	return &ImageContent{Data: data, MIMEType: mimeType}
}

// Audio returns a block with audio.
func Audio(data []byte, mimeType string) *AudioContent {
	return &AudioContent{Data: data, MIMEType: mimeType}
}
