package main

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// toolResult prints the result of a tool. If the tool says that it failed, that is the error.
func (v *view) toolResult(tool string, raw []byte) error {
	if v.output == "json" {
		v.std.out.json(raw)
	}
	var result mcp.CallToolResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		f := v.noResult(tool, raw, err)
		f.tool = tool
		return f
	}
	if result.IsError {
		return toolFailure(v.std, tool, &result, v.output)
	}
	e, enveloped := dispatch.ParseEnvelope(result.StructuredContent) // of a server that is built on stdwire
	if v.save != nil {
		if name, content, rest, ok := encodedFile(e.Data); ok {
			path, _ := jsonscan.Text(jsonscan.Member(e.Data, "path"))
			v.bytes("file "+path, fileName(name, ""), content)
			e.Data = rest
		}
	}
	enveloped = enveloped && v.output == "text"
	switch {
	case enveloped:
		printData(v.std, e.Data)
	case len(result.Content) > 0:
	case v.output == "text":
		printData(v.std, result.StructuredContent)
	default:
		v.text(string(result.StructuredContent))
	}
	for i, block := range result.Content {
		if _, isText := block.(*mcp.TextContent); !isText || !enveloped { // the text is the envelope again
			v.block(block, fmt.Sprintf("%s-%d", tool, i+1))
		}
	}
	return v.err
}

// noResult is the failure of a server whose result is none. The request was carried out; whatever it gave must not be lost.
func (v *view) noResult(what string, raw []byte, err error) *failure {
	if v.output != "json" {
		v.std.out.json(raw)
	}
	return &failure{code: "internal", what: what, why: fmt.Sprintf("the result is not one: %v", err)}
}

// printData prints what a tool returned, for people. That it is not all there is is said on stderr.
func printData(std *streams, data []byte) {
	text, note := render.Data(data, std.out.terminal)
	_, _ = std.out.WriteString(text)
	if note != "" {
		std.err.printf("note: %s", note)
	}
}

// toolFailure is the failure of a tool. What does not fit into a line is printed on stderr before, unless it is on stdout already.
func toolFailure(std *streams, tool string, result *mcp.CallToolResult, output string) *failure {
	var texts []string
	for _, block := range result.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, strings.TrimSpace(t.Text))
		}
	}
	text := strings.Join(texts, "\n")
	var code dispatch.Code
	if e, ok := dispatch.ParseEnvelope(result.StructuredContent); ok && !e.Success() {
		code, text = e.Err.Code, e.Err.Error()
	}
	f := &failure{code: "tool_is_error", tool: tool, what: tool, why: cut(printable.Line(text), 500)}
	switch {
	case std.answers():
	case code == dispatch.ConfirmationRequired:
		f.hint = atTerminal + "; stdwire's own server asks nobody with --confirm trust"
	case strings.Contains(strings.ToLower(text), "elicit"): // as many put it
		f.hint = atTerminal
	}
	switch {
	case text == "":
		f.why = "the tool failed and does not say why"
	case output != "json" && (f.why != printable.Line(text) || strings.Contains(text, "\n")):
		std.err.printf("%s", text)
		first, _, _ := strings.Cut(text, "\n")
		f.why = cut(printable.Line(first), 500)
	}
	return f
}
