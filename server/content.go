package server

import (
	"bytes"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// allowsStructured reports whether the era supports this structured content.
func (e *era) allowsStructured(content []byte) bool {
	f, _ := mcp.FeaturesOf(e.revision)
	return e.structuredContent && (f.AnyStructuredOutput || isObject(content))
}

// content returns a content block, or a text in its place if the era does not support such a block.
func (e *era) content(block mcp.Content) mcp.Content {
	f, _ := mcp.FeaturesOf(e.revision)
	switch b := block.(type) {
	case *mcp.AudioContent:
		if !f.Audio {
			return &mcp.TextContent{
				Text:        fmt.Sprintf("[sound, %s, %d bytes]", b.MIMEType, len(b.Data)),
				Annotations: b.Annotations}
		}
	case *mcp.ResourceLink:
		if !f.ResourceLinks {
			return &mcp.TextContent{Text: fmt.Sprintf("[%s](%s)", b.Name, b.URI),
				Annotations: b.Annotations}
		}
	}
	return block
}
