package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// jsonText is text that is JSON already.
type jsonText = json.RawMessage

// printResult prints the result of a tool. If the tool says that it failed, that is the error.
func printResult(std *streams, tool string, raw []byte, output string) error {
	if output != "text" {
		std.out.json(raw)
	}
	var result mcp.CallToolResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		if output == "text" {
			std.out.json(raw) // the call was made; whatever it gave must not be lost
		}
		return &failure{code: "internal", tool: tool, what: tool, why: fmt.Sprintf("the result is not one: %v", err)}
	}
	switch e, ok := readEnvelope(result.StructuredContent); {
	case result.IsError:
		return toolFailure(std, tool, &result, output)
	case output != "text":
	case ok:
		printData(std, e.data)
	case len(result.Content) > 0:
		for _, block := range result.Content {
			printContent(std.out, block)
		}
	default:
		printData(std, result.StructuredContent)
	}
	return nil
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
	if e, ok := readEnvelope(result.StructuredContent); ok && e.message != "" {
		text = e.code + ": " + e.message
	}
	f := &failure{code: "tool_is_error", tool: tool, what: tool, why: cut(printable.Line(text), 500)}
	switch {
	case text == "":
		f.why = "the tool failed and does not say why"
	case output == "text" && (f.why != printable.Line(text) || strings.Contains(text, "\n")):
		std.err.printf("%s", text)
		first, _, _ := strings.Cut(text, "\n")
		f.why = cut(printable.Line(first), 500)
	}
	return f
}

// An envelope is the result of a server that is built on stdwire: {"success":…,"data":…,"error":…}, and nothing else.
type envelope struct {
	data          []byte
	code, message string // of the error
}

func readEnvelope(structured []byte) (e envelope, ok bool) {
	members := map[string][]byte{}
	for token, value := range jsonscan.Members(structured) {
		name, _ := jsonscan.Unquote(token)
		members[string(name)] = value
	}
	success := string(members["success"])
	if len(members) != 3 || members["data"] == nil || members["error"] == nil || success != "true" && success != "false" {
		return e, false
	}
	e.data = members["data"]
	code, _ := jsonscan.Unquote(jsonscan.Member(members["error"], "code"))
	message, _ := jsonscan.Unquote(jsonscan.Member(members["error"], "message"))
	e.code, e.message = string(code), string(message)
	return e, true
}

// printContent prints a block of content.
func printContent(out *output, block mcp.Content) {
	switch b := block.(type) {
	case *mcp.TextContent:
		out.lines(b.Text)
	case *mcp.ImageContent:
		out.print(fmt.Sprintf("[image %s %s]\n", printable.Line(b.MIMEType), size(len(b.Data))))
	case *mcp.AudioContent:
		out.print(fmt.Sprintf("[audio %s %s]\n", printable.Line(b.MIMEType), size(len(b.Data))))
	case *mcp.EmbeddedResource:
		if b.Resource.Blob == nil {
			out.lines(b.Resource.Text)
			break
		}
		out.print(fmt.Sprintf("[resource %s %s]\n", printable.Line(b.Resource.URI+" "+b.Resource.MIMEType), size(len(b.Resource.Blob))))
	case *mcp.ResourceLink:
		out.print(fmt.Sprintf("[link %s]\n", printable.Line(b.URI+" "+b.Name+" "+b.MIMEType)))
	default:
		text, err := mcp.Marshal(block)
		if err != nil {
			text = []byte(block.Type())
		}
		out.print(fmt.Sprintf("[%s]\n", printable.Line(string(text))))
	}
}

// size shows a number of bytes.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}
