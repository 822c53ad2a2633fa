package doctor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// How bad something is.
const (
	Fine  = "ok"
	note  = "note"    // worth knowing
	Warns = "warning" // it does not work everywhere, or not in full
	Broke = "broken"  // it cannot be used
)

// A Chart is what was seen of one server.
type Chart struct {
	ID       string       `json:"id"`
	Verdict  string       `json:"verdict"`          // ok, warning, broken
	Source   string       `json:"source,omitempty"` // where it is configured
	Era      string       `json:"era,omitempty"`
	Revision mcp.Revision `json:"revision,omitempty"`
	By       string       `json:"handshake,omitempty"` // the method
	ReadyMs  float64      `json:"ready_ms,omitempty"`  // from the start of the process to the end of the handshake
	Tools    *int         `json:"tools,omitempty"`     // how many; nil if it has none to offer
	StopMs   float64      `json:"stop_ms,omitempty"`   // of a process, from the end of its stdin to its own
	Symptoms []Symptom    `json:"findings"`

	has map[pin.Kind][]string // what it lists; nil if it is not of the configuration, or has not said
}

// A Symptom is something to be said of a server, in a sentence, with the way out if there is one.
type Symptom struct {
	Severity string `json:"severity"` // note, warning, broken
	What     string `json:"what"`
	Hint     string `json:"hint,omitempty"`
}

// add writes a symptom down. All of it is made fit to be printed on a line.
func (c *Chart) add(severity, what, hint string) {
	c.Symptoms = append(c.Symptoms, Symptom{severity, printable.Line(what), printable.Line(hint)})
	if severity == Broke || severity == Warns && c.Verdict == Fine {
		c.Verdict = severity
	}
}

// facts are what is known of a server that has answered, on a line; "" of one that has not.
func (c *Chart) facts() string {
	if c.Revision == "" {
		return ""
	}
	parts := []string{fmt.Sprintf("%s, %s era, by %s", c.Revision, c.Era, c.By), fmt.Sprintf("ready after %.0f ms", c.ReadyMs)}
	if c.Tools != nil {
		parts = append(parts, command.Plural(*c.Tools, "tool"))
	}
	if c.StopMs != 0 {
		parts = append(parts, fmt.Sprintf("stopped after %.0f ms", c.StopMs))
	}
	return strings.Join(parts, "; ")
}

func (c *Chart) text(column int) string {
	var b strings.Builder
	paragraph := func(indent, rest int, head, text string) {
		b.WriteString(strings.TrimRight(command.WrapWords(append([]string{head}, strings.Fields(text)...), indent, rest), " ") + "\n")
	}
	paragraph(0, column+10, fmt.Sprintf("%-*s  %-7s", column, printable.Line(c.ID), c.Verdict), c.facts())
	for _, s := range c.Symptoms {
		const column = 12
		paragraph(2, column, fmt.Sprintf("%-*s", column-3, s.Severity), s.What)
		if s.Hint != "" {
			paragraph(column, column+2, "→", s.Hint)
		}
	}
	return b.String()
}

// printCharts prints what was seen of all servers, and what it comes to.
func printCharts(std *term.Streams, output string, charts []*Chart) error {
	verdicts := map[string]int{Fine: 0, Warns: 0, Broke: 0}
	column := 0
	for _, c := range charts {
		verdicts[c.Verdict]++
		column = max(column, len([]rune(printable.Line(c.ID))))
	}
	if output == "json" {
		text, err := json.Marshal(struct {
			Servers []*Chart       `json:"servers"`
			Summary map[string]int `json:"summary"`
		}{append([]*Chart{}, charts...), verdicts})
		std.Out.PrintJSON(text)
		return err
	}
	for _, c := range charts {
		std.Out.Print(c.text(column))
	}
	if len(charts) > 1 {
		std.Out.Print(fmt.Sprintf("\n%s: %d ok, %d with warnings, %d broken\n", command.Plural(len(charts), "server"), verdicts[Fine], verdicts[Warns], verdicts[Broke]))
	}
	return nil
}
