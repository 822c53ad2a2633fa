package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A toolResult is the result of tools/call, parsed for an operation.
type toolResult struct {
	result     json.RawMessage
	content    json.RawMessage // an array, nil for none
	structured json.RawMessage // nil for none
	envelope   dispatch.Envelope
	enveloped  bool // the structured content is an envelope: the server is built on stdwire
	failed     bool
}

// parseToolResult parses a JSON object.
func parseToolResult(result json.RawMessage) *toolResult {
	a := &toolResult{result: result, content: jsonscan.Member(result, "content"),
		structured: jsonscan.Member(result, "structuredContent")}
	a.failed = string(jsonscan.Member(result, "isError")) == "true"
	if string(a.structured) == "null" {
		a.structured = nil
	}
	a.envelope, a.enveloped = dispatch.ParseEnvelope(a.structured)
	return a
}

// data returns the structured content, or the data of its envelope; without structured content, the
// content.
func (a *toolResult) data() json.RawMessage {
	switch {
	case a.enveloped && a.envelope.Success():
		return a.envelope.Data
	case a.structured != nil:
		return a.structured
	case a.content != nil:
		return a.content
	}
	return a.result
}

// hasMoreThanData reports whether the result contains anything beyond its data. A text copy of the
// structured content does not count.
func (a *toolResult) hasMoreThanData() bool {
	if a.structured == nil && a.content == nil {
		return false // it is all data
	}
	for token, value := range jsonscan.Members(a.result) {
		name, _ := jsonscan.Text(token)
		switch {
		case name == "structuredContent", name == "isError", name == "resultType" &&
			string(value) == `"complete"`:
		case name == "content" && (a.structured == nil || a.contentRepeatsStructured()):
		case name == "_meta" && hasOnlyServerInfo(value):
		default:
			return true
		}
	}
	return a.enveloped && (a.envelope.Session != "" || a.envelope.Original != nil)
}

// hasOnlyServerInfo reports whether a _meta only names the server, as in every modern result.
func hasOnlyServerInfo(meta []byte) bool {
	for token := range jsonscan.Members(meta) {
		if !jsonscan.KeyIs(token, mcp.MetaServerInfo) {
			return false
		}
	}
	return true
}

// contentRepeatsStructured reports whether the content is only a text copy of the structured
// content.
func (a *toolResult) contentRepeatsStructured() bool {
	blocks := 0
	for block := range jsonscan.Elements(a.content) {
		blocks++
		text, _ := jsonscan.Unquote(jsonscan.Member(block, "text"))
		if blocks > 1 || string(jsonscan.Member(block, "type")) != `"text"` ||
			jsonscan.Valid(text) != nil {
			return false
		}
		for token := range jsonscan.Members(block) {
			if !jsonscan.KeyIs(token, "type") && !jsonscan.KeyIs(token, "text") {
				return false
			}
		}
		one, err := jsondiff.Canonical(text)
		other, otherErr := jsondiff.Canonical(a.structured)
		if err != nil || otherErr != nil || !bytes.Equal(one, other) {
			return false
		}
	}
	return true
}

const maxMessage = 4 << 10 // bytes of a tool's error message; the details have all of it

// message returns the tool's error message.
func (a *toolResult) message() string {
	if a.enveloped && !a.envelope.Success() {
		return a.envelope.Err.Error()
	}
	var texts []string
	for block := range jsonscan.Elements(a.content) {
		if text, ok := jsonscan.Text(jsonscan.Member(block, "text")); ok {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	text := printable.TruncateBytes(strings.Join(texts, "\n"), maxMessage)
	if text == "" {
		return "the tool failed and does not say why"
	}
	return text
}
