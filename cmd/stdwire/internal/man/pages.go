package man

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
)

// A Build is the version of the program that the pages describe.
type Build struct {
	Version string
	Date    string // of the commit, as 2006-01-02; "" if it is not known
}

// Pages returns all pages: stdwire(1) with the texts before and after the lists of commands, a page
// of section 1 for each command and subcommand, and one of section 5 or 7 for each topic.
func Pages(b Build, before, after string, groups command.Groups, topics []topic.Topic) []Page {
	all := []Page{mainPage(b, before, after, groups, topics)}
	var addCommands func([]command.Command)
	addCommands = func(commands []command.Command) {
		for _, c := range commands {
			all = append(all, commandPage(b, c))
			addCommands(c.Subcommands)
		}
	}
	addCommands(groups.Table())
	for _, t := range topics {
		all = append(all, topicPage(b, t))
	}
	return all
}

func mainPage(b Build, before, after string, groups command.Groups,
	topics []topic.Topic) Page {
	const name = "stdwire"
	var w writer
	w.title(name, 1, b, "MCP server, gateway, client and recorder")
	w.request("SH", "SYNOPSIS")
	w.request("B", "stdwire")
	w.lines("COMMAND [FLAG]... [-- SERVER-COMMAND...]")
	w.request("SH", "DESCRIPTION")
	w.prose(before, false)
	w.request("SH", "COMMANDS")
	for _, g := range groups {
		w.request("SS", g.Title)
		for _, c := range g.Commands {
			w.item(pageName(c.Name)+"(1)", c.Summary)
		}
	}
	w.request("SH", "SERVERS AND EXIT CODES")
	w.prose(after, false)
	w.request("SH", "TOPICS")
	for _, t := range topics {
		w.item(fmt.Sprintf("%s(%d)", pageName(t.Name), section(t)), t.Summary)
	}
	return Page{name, 1, w.String()}
}

// pageName is the name of the page of a command such as "config check", or of a topic.
func pageName(name string) string { return "stdwire-" + strings.ReplaceAll(name, " ", "-") }

// item writes an element of a list with its explanation.
func (w *writer) item(head, text string) {
	w.request("TP")
	w.request("B", head)
	w.paragraph([]string{text})
}

func commandPage(b Build, c command.Command) Page {
	name := pageName(c.Name)
	grammar, _ := c.Make()
	var w writer
	w.title(name, 1, b, c.Summary)
	w.request("SH", "SYNOPSIS")
	w.request("B", "stdwire "+c.Name)
	if c.Usage != "" {
		w.lines(c.Usage)
	}
	if c.Help != "" {
		w.request("SH", "DESCRIPTION")
		w.prose(c.Help, false)
	}
	if len(grammar.Flags) > 0 {
		w.request("SH", "OPTIONS")
	}
	for _, f := range grammar.Flags {
		w.item(f.Usage(), f.Help)
	}
	w.request("SH", "SEE ALSO")
	w.lines("stdwire(1), stdwire-exit-codes(7)")
	return Page{name, 1, w.String()}
}

// section returns the section of a topic's page: 5 for file formats.
func section(t topic.Topic) int {
	if t.Name == "config" || t.Name == "config-file" {
		return 5
	}
	return 7
}

func topicPage(b Build, t topic.Topic) Page {
	name := pageName(t.Name)
	var w writer
	w.title(name, section(t), b, t.Summary)
	w.request("SH", "DESCRIPTION")
	w.prose(strings.TrimPrefix(t.Text, t.Summary+"\n"), true)
	w.request("SH", "SEE ALSO")
	w.lines("stdwire(1)")
	return Page{name, section(t), w.String()}
}
