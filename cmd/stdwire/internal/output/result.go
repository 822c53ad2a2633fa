package output

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ToolResult prints the result of a tool. If the tool reports a failure, that is the error.
func (p *Printer) ToolResult(tool string, raw []byte) error {
	if p.Format == "json" {
		p.Std.Out.PrintJSON(raw)
	}
	var result mcp.CallToolResult
	if err := mcp.Unmarshal(raw, &result); err != nil {
		f := p.InvalidResult(tool, raw, err)
		f.Tool = tool
		return f
	}
	if result.IsError {
		return toolFailure(p.Std, tool, &result, p.Format)
	}
	// a server built on stdwire returns an envelope
	e, enveloped := dispatch.ParseEnvelope(result.StructuredContent)
	if p.Save != nil {
		if name, content, rest, ok := decodeFile(e.Data); ok {
			path, _ := jsonscan.Text(jsonscan.Member(e.Data, "path"))
			p.printBinary("file "+path, fileName(name, ""), content)
			e.Data = rest
		}
	}
	enveloped = enveloped && p.Format == "text"
	switch {
	case enveloped:
		printData(p.Std, e.Data)
	case len(result.Content) > 0:
	case p.Format == "text":
		printData(p.Std, result.StructuredContent)
	default:
		p.text(string(result.StructuredContent))
	}
	for i, block := range result.Content {
		if _, isText := block.(*mcp.TextContent); !isText || !enveloped {
			// the text repeats the envelope
			p.Block(block, fmt.Sprintf("%s-%d", tool, i+1))
		}
	}
	return p.Err
}

// InvalidResult returns the failure for a result that is not valid. It prints the result, because
// the request was carried out and its result must not be lost.
func (p *Printer) InvalidResult(what string, raw []byte, err error) *command.Failure {
	if p.Format != "json" {
		p.Std.Out.PrintJSON(raw)
	}
	return &command.Failure{Code: "internal", What: what,
		Why: fmt.Sprintf("the result is invalid: %v", err)}
}

// printData prints the data of a tool for people. It says on stderr if the data is not complete.
func printData(std *term.Streams, data []byte) {
	text, note := render.Data(data, std.Out.Columns())
	_, _ = std.Out.WriteString(text)
	if note != "" {
		std.Err.Printf("note: %s", note)
	}
}

// toolFailure returns the failure that a tool reports. Text that does not fit on one line is
// printed on stderr first, unless it is on stdout.
func toolFailure(std *term.Streams, tool string, result *mcp.CallToolResult,
	output string) *command.Failure {
	var texts []string
	for _, block := range result.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, strings.TrimSpace(t.Text))
		}
	}
	text := strings.Join(texts, "\n")
	var code dispatch.Code
	if e, ok := dispatch.ParseEnvelope(result.StructuredContent); ok && e.Err != nil {
		code, text = e.Err.Code, e.Err.Error()
	}
	f := &command.Failure{Code: FailureCode(code), Tool: tool, What: tool,
		Why: printable.TruncateRunes(printable.Line(text), 500)}
	switch {
	case std.CanAsk():
	case code == dispatch.ConfirmationRequired:
		f.Hint = "confirm it with --yes, or at a terminal"
	case strings.Contains(strings.ToLower(text), "elicit"): // servers word it in many ways
		f.Hint = term.HintTerminal
	}
	switch {
	case text == "":
		f.Why = "the tool failed and does not say why"
	case output != "json" && (f.Why != printable.Line(text) || strings.Contains(text, "\n")):
		std.Err.Printf("%s", text)
		first, _, _ := strings.Cut(text, "\n")
		f.Why = printable.TruncateRunes(printable.Line(first), 500)
	}
	return f
}
