// Package legacy gives definitions and results the form of revisions before 2026-07-28.
package legacy

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Content returns a content block, or a text in its place if the revision has no such block.
func Content(revision mcp.Revision, block mcp.Content) mcp.Content {
	f, _ := mcp.FeaturesOf(revision)
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

// Result returns the result of another server's tool, prompt or resource in the form of a legacy
// revision.
func Result(revision mcp.Revision, kind mcp.Kind, result []byte) []byte {
	switch kind {
	case mcp.KindTool:
		return toolResult(result)
	case mcp.KindPrompt:
		return promptResult(revision, result)
	}
	return jsonscan.Without(result, "ttlMs", "cacheScope")
}

// promptResult replaces content that the revision does not have by text; see [Content].
func promptResult(revision mcp.Revision, result []byte) []byte {
	messages := jsonscan.Member(result, "messages")
	if f, _ := mcp.FeaturesOf(revision); f.Audio && f.ResourceLinks || len(messages) == 0 ||
		messages[0] != '[' {
		return result
	}
	changed, all := false, []byte{'['}
	for message := range jsonscan.Elements(messages) {
		var m mcp.PromptMessage
		if mcp.Unmarshal(message, &m) == nil {
			if block := Content(revision, m.Content); block != m.Content {
				text, _ := mcp.Marshal(block) // a text can be encoded
				message, changed = jsonscan.SetMember(message, "content", text), true
			}
		}
		all = jsonscan.AppendElement(all, message)
	}
	if !changed {
		return result
	}
	return jsonscan.SetMember(result, "messages", append(all, ']'))
}
