package doctor

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The severities of findings and the verdicts on servers.
const (
	Fine    = "ok"
	note    = "note"    // worth knowing
	Warning = "warning" // does not work everywhere or not in full
	Broken  = "broken"  // cannot be used
)

// A Report is the result of checking one server.
type Report struct {
	ID       string       `json:"id"`
	Verdict  string       `json:"verdict"`          // ok, warning, broken
	Source   string       `json:"source,omitempty"` // where it is configured
	Era      string       `json:"era,omitempty"`
	Revision mcp.Revision `json:"revision,omitempty"`
	By       string       `json:"handshake,omitempty"` // the method
	// from the start of the process to the end of the handshake
	ReadyMs float64 `json:"ready_ms,omitempty"`
	Tools   *int    `json:"tools,omitempty"` // their number; nil if the server has none
	// what the definitions of the tools take of a model's context
	ToolCost *output.Cost `json:"tool_cost,omitempty"`
	// from the end of stdin to the end of the process
	StopMs   float64   `json:"stop_ms,omitempty"`
	Findings []Finding `json:"findings"`

	// the names in its lists; nil if the server is not configured or did not answer
	has map[mcp.Kind][]string
}

// A Finding is an observation about a server, with an optional remedy.
type Finding struct {
	Severity string `json:"severity"` // note, warning, broken
	What     string `json:"what"`
	Hint     string `json:"hint,omitempty"`
	Source   string `json:"source,omitempty"` // where what a host does is known from, and when
}

// add appends a finding. Control characters in it are escaped.
func (c *Report) add(severity, what, hint string) {
	c.Findings = append(c.Findings, Finding{Severity: severity,
		What: printable.Line(what), Hint: printable.Line(hint)})
	if severity == Broken || severity == Warning && c.Verdict == Fine {
		c.Verdict = severity
	}
}

// summary returns the facts about a server that answered, or "".
func (c *Report) summary() string {
	if c.Revision == "" {
		return ""
	}
	parts := []string{fmt.Sprintf("%s, %s era, by %s", c.Revision, c.Era, c.By),
		fmt.Sprintf("ready after %.0f ms", c.ReadyMs)}
	if c.Tools != nil {
		tools := command.Plural(*c.Tools, "tool")
		if c.ToolCost != nil && *c.Tools > 0 {
			tools += fmt.Sprintf(" (≈ %d tokens)", c.ToolCost.Tokens)
		}
		parts = append(parts, tools)
	}
	if c.StopMs != 0 {
		parts = append(parts, fmt.Sprintf("stopped after %.0f ms", c.StopMs))
	}
	return strings.Join(parts, "; ")
}

// print prints a report, with the verdict after column columns for the id of the server.
func (c *Report) print(out *term.Output, column int) {
	columns := out.Columns()
	paragraph := func(indent, rest int, head, text string) string {
		words := append([]string{head}, strings.Fields(text)...)
		return strings.TrimRight(columns.WrapWords(words, indent, rest), " ") + "\n"
	}
	id := columns.Pad(printable.Line(c.ID), column) + "  "
	head := paragraph(0, column+10, fmt.Sprintf("%s%-7s", id, c.Verdict), c.summary())
	out.Print(head[:len(id)])
	out.PrintState(head[len(id):])
	for _, s := range c.Findings {
		const column = 12
		out.PrintState(paragraph(2, column, fmt.Sprintf("%-*s", column-3, s.Severity), s.What))
		if s.Hint != "" {
			out.Print(paragraph(column, column+2, "→", s.Hint))
		}
	}
}

// printReports prints the reports of all servers and a summary.
func printReports(std *term.Streams, output string, reports []*Report) error {
	verdicts := map[string]int{Fine: 0, Warning: 0, Broken: 0}
	column := 0
	for _, c := range reports {
		verdicts[c.Verdict]++
		column = max(column, std.Out.Columns().Of(printable.Line(c.ID)))
	}
	if output == "json" {
		return std.Out.PrintValue(struct {
			Servers []*Report      `json:"servers"`
			Summary map[string]int `json:"summary"`
		}{append([]*Report{}, reports...), verdicts})
	}
	for _, c := range reports {
		c.print(std.Out, column)
	}
	if len(reports) > 1 {
		std.Out.Print(fmt.Sprintf("\n%s: %d ok, %d with warnings, %d broken\n",
			command.Plural(len(reports), "server"), verdicts[Fine], verdicts[Warning],
			verdicts[Broken]))
	}
	return nil
}
