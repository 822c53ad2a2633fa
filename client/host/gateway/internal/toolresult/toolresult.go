// Package toolresult reads the results of tools/call for operations.
package toolresult

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

// A Result is the result of tools/call, parsed for an operation.
type Result struct {
	result     json.RawMessage
	content    json.RawMessage // nil if absent
	structured json.RawMessage // nil if absent or null
	envelope   dispatch.Envelope
	enveloped  bool // the structured content is an envelope, as of a server built on stdwire
	Failed     bool // isError
}

// Parse parses a JSON object.
func Parse(result json.RawMessage) *Result {
	r := &Result{result: result, content: jsonscan.Member(result, "content"),
		structured: jsonscan.Member(result, "structuredContent")}
	r.Failed = string(jsonscan.Member(result, "isError")) == "true"
	if string(r.structured) == "null" {
		r.structured = nil
	}
	r.envelope, r.enveloped = dispatch.ParseEnvelope(r.structured)
	return r
}

// Data returns the data of an operation: the data of the envelope, or else the structured content,
// or else the content.
func (r *Result) Data() json.RawMessage {
	switch {
	case r.enveloped && r.envelope.Err == nil:
		return r.envelope.Data
	case r.structured != nil:
		return r.structured
	case r.content != nil:
		return r.content
	}
	return r.result
}

// HasMoreThanData reports whether the result contains anything beyond its data. A text copy of the
// structured content does not count.
func (r *Result) HasMoreThanData() bool {
	if r.structured == nil && r.content == nil {
		return false // Data returns the whole result
	}
	for token, value := range jsonscan.Members(r.result) {
		name, _ := jsonscan.Text(token)
		switch {
		case name == "structuredContent", name == "isError", name == "resultType" &&
			string(value) == `"complete"`:
		case name == "content" && (r.structured == nil || r.contentRepeatsStructured()):
		case name == "_meta" && hasOnlyServerInfo(value):
		default:
			return true
		}
	}
	return r.enveloped && (r.envelope.Session != "" || r.envelope.UpstreamResult != nil)
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
func (r *Result) contentRepeatsStructured() bool {
	blocks := 0
	for block := range jsonscan.Elements(r.content) {
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
		text1, err := jsondiff.Canonical(text)
		text2, otherErr := jsondiff.Canonical(r.structured)
		if err != nil || otherErr != nil || !bytes.Equal(text1, text2) {
			return false
		}
	}
	return true
}

const maxMessage = 4 << 10 // bytes of a tool's error message; the details have all of it

// Message returns the tool's error message.
func (r *Result) Message() string {
	if r.enveloped && r.envelope.Err != nil {
		return r.envelope.Err.Error()
	}
	var texts []string
	for block := range jsonscan.Elements(r.content) {
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
