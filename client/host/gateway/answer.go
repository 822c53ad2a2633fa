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

// An answer is the result of a tool, read for what an operation gives.
type answer struct {
	result     json.RawMessage
	content    json.RawMessage // an array, nil for none
	structured json.RawMessage // nil for none
	envelope   dispatch.Envelope
	enveloped  bool // the structured content is an envelope: the server is built on stdwire
	failed     bool
}

// readAnswer reads a JSON object.
func readAnswer(result json.RawMessage) *answer {
	a := &answer{result: result, content: jsonscan.Member(result, "content"), structured: jsonscan.Member(result, "structuredContent")}
	a.failed = string(jsonscan.Member(result, "isError")) == "true"
	if string(a.structured) == "null" {
		a.structured = nil
	}
	a.envelope, a.enveloped = dispatch.ParseEnvelope(a.structured)
	return a
}

// data is what was asked for: the structured content, or the data of the envelope that it is; without any, the content.
func (a *answer) data() json.RawMessage {
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

// saysMore reports whether there is anything in the result that is not in the data. The text that repeats structured content, for those who do not know of that, is nothing.
func (a *answer) saysMore() bool {
	if a.structured == nil && a.content == nil {
		return false // it is all data
	}
	for token, value := range jsonscan.Members(a.result) {
		name, _ := jsonscan.Text(token)
		switch {
		case name == "structuredContent", name == "isError", name == "resultType" && string(value) == `"complete"`:
		case name == "content" && (a.structured == nil || a.repeats()):
		case name == "_meta" && onlyServer(value):
		default:
			return true
		}
	}
	return a.enveloped && (a.envelope.Session != "" || a.envelope.Original != nil)
}

// onlyServer reports whether nothing is told but which server it is, as modern ones do with each result.
func onlyServer(meta []byte) bool {
	for token := range jsonscan.Members(meta) {
		if !jsonscan.KeyIs(token, mcp.MetaServerInfo) {
			return false
		}
	}
	return true
}

// repeats reports whether the content is the structured content as a text, and nothing else.
func (a *answer) repeats() bool {
	blocks := 0
	for block := range jsonscan.Elements(a.content) {
		blocks++
		text, _ := jsonscan.Unquote(jsonscan.Member(block, "text"))
		if blocks > 1 || string(jsonscan.Member(block, "type")) != `"text"` || jsonscan.Valid(text) != nil {
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

const maxMessage = 4 << 10 // bytes of what a tool says about why it failed; all of it is in the details

// message is why the tool says that it has failed.
func (a *answer) message() string {
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
