package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// How bad something is.
const (
	fine  = "ok"
	note  = "note"    // worth knowing
	warns = "warning" // it does not work everywhere, or not in full
	broke = "broken"  // it cannot be used
)

// A chart is what was seen of one server.
type chart struct {
	ID       string       `json:"id"`
	Verdict  string       `json:"verdict"`          // ok, warning, broken
	Source   string       `json:"source,omitempty"` // where it is configured
	Era      string       `json:"era,omitempty"`
	Revision mcp.Revision `json:"revision,omitempty"`
	By       string       `json:"handshake,omitempty"` // the method
	ReadyMs  float64      `json:"ready_ms,omitempty"`  // from the start of the process to the end of the handshake
	Tools    *int         `json:"tools,omitempty"`     // how many; nil if it has none to offer
	StopMs   float64      `json:"stop_ms,omitempty"`   // of a process, from the end of its stdin to its own
	Symptoms []symptom    `json:"findings"`

	has map[pin.Kind][]string // what it lists; nil if it is not of the configuration, or has not said
}

// A symptom is something to be said of a server, in a sentence, with the way out if there is one.
type symptom struct {
	Severity string `json:"severity"` // note, warning, broken
	What     string `json:"what"`
	Hint     string `json:"hint,omitempty"`
}

// add writes a symptom down. All of it is made fit to be printed on a line.
func (c *chart) add(severity, what, hint string) {
	c.Symptoms = append(c.Symptoms, symptom{severity, printable.Line(what), printable.Line(hint)})
	if severity == broke || severity == warns && c.Verdict == fine {
		c.Verdict = severity
	}
}

// facts are what is known of a server that has answered, on a line; "" of one that has not.
func (c *chart) facts() string {
	if c.Revision == "" {
		return ""
	}
	parts := []string{fmt.Sprintf("%s, %s era, by %s", c.Revision, c.Era, c.By), fmt.Sprintf("ready after %.0f ms", c.ReadyMs)}
	if c.Tools != nil {
		parts = append(parts, count(*c.Tools, "tool"))
	}
	if c.StopMs != 0 {
		parts = append(parts, fmt.Sprintf("stopped after %.0f ms", c.StopMs))
	}
	return strings.Join(parts, "; ")
}

func (c *chart) text(column int) string {
	var b strings.Builder
	paragraph := func(indent, rest int, head, text string) {
		b.WriteString(strings.TrimRight(wrapWords(append([]string{head}, strings.Fields(text)...), indent, rest), " ") + "\n")
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
func printCharts(std *streams, output string, charts []*chart) error {
	verdicts := map[string]int{fine: 0, warns: 0, broke: 0}
	column := 0
	for _, c := range charts {
		verdicts[c.Verdict]++
		column = max(column, len([]rune(printable.Line(c.ID))))
	}
	if output == "json" {
		text, err := json.Marshal(struct {
			Servers []*chart       `json:"servers"`
			Summary map[string]int `json:"summary"`
		}{append([]*chart{}, charts...), verdicts})
		std.out.json(text)
		return err
	}
	for _, c := range charts {
		std.out.print(c.text(column))
	}
	if len(charts) > 1 {
		std.out.print(fmt.Sprintf("\n%s: %d ok, %d with warnings, %d broken\n", count(len(charts), "server"), verdicts[fine], verdicts[warns], verdicts[broke]))
	}
	return nil
}
