package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// PrintFindings prints findings by server, the server with the worst first. The remedy of a rule
// appears once.
func PrintFindings(out *term.Output, found []scan.Finding) {
	var ids []string
	for _, f := range found {
		if !slices.Contains(ids, f.Server) {
			ids = append(ids, f.Server)
		}
	}
	for _, id := range ids {
		out.Print(id + "\n")
		advised := map[string]bool{} // by rule
		for _, f := range found {
			if f.Server != id {
				continue
			}
			const column = 12 // of the text after the severity
			wrap := func(first, text string) string {
				return out.Columns().WrapAfter(first, text, column) + "\n"
			}
			line := func(first, text string) { out.Print(wrap(first, text)) }
			out.PrintState(wrap("  "+f.Severity.String(), f.Rule+": "+f.Place.String()))
			line("", f.What)
			if f.Evidence != "" {
				line("", "| "+f.Evidence)
			}
			if !advised[f.Rule] {
				line("", "→ "+f.Advice)
			}
			advised[f.Rule] = true
		}
		out.Print("\n")
	}
}

// A ScanSummary has the numbers of scanned definitions and of findings.
type ScanSummary struct {
	Servers   int            `json:"servers"`
	Tools     int            `json:"tools"`
	Prompts   int            `json:"prompts"`
	Resources int            `json:"resources"`
	Templates int            `json:"templates"`
	Skills    int            `json:"skills"`
	Found     map[string]int `json:"found"` // by severity
	Ignored   int            `json:"ignored"`
}

// number returns the number of definitions of a kind, or nil for one that no server lists.
func (s *ScanSummary) number(kind mcp.Kind) *int {
	return map[mcp.Kind]*int{mcp.KindTool: &s.Tools, mcp.KindPrompt: &s.Prompts,
		mcp.KindResource: &s.Resources, mcp.KindResourceTemplate: &s.Templates,
		mcp.KindSkill: &s.Skills}[kind]
}

// Count sets the numbers of definitions and of findings.
func (s *ScanSummary) Count(servers []scan.Server, found []scan.Finding) {
	for i := range servers {
		for kind, list := range servers[i].Lists {
			*s.number(kind) += len(list)
		}
	}
	s.Found = map[string]int{}
	for _, f := range found {
		s.Found[f.Severity.String()]++
	}
}

// Text returns one line, as in: 3 findings (1 high, 2 low) in 29 tools of 1 server; 1 ignored.
func (s *ScanSummary) Text() string {
	var severities, things []string
	total := 0
	for _, severity := range scan.Severities() {
		if n := s.Found[severity]; n > 0 {
			severities = append(severities, fmt.Sprintf("%d %s", n, severity))
			total += n
		}
	}
	for kind := range mcp.Kinds() {
		if n := s.number(kind); n != nil && *n > 0 {
			things = append(things, command.Plural(*n, kind.Info().Short))
		}
	}
	text := "no findings"
	if total > 0 {
		text = fmt.Sprintf("%s (%s)", command.Plural(total, "finding"),
			strings.Join(severities, ", "))
	}
	if things == nil {
		things = []string{"nothing"}
	}
	text += fmt.Sprintf(" in %s of %s", strings.Join(things, ", "),
		command.Plural(s.Servers, "server"))
	if s.Ignored > 0 {
		text += fmt.Sprintf("; %d ignored", s.Ignored)
	}
	return text
}
