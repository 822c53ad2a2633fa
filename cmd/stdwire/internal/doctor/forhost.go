package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
)

// hostFlag is the flag --for.
func hostFlag(host **hosts.Host) command.Flag {
	return command.Flag{Name: "--for", Value: "HOST",
		Help: "also check against what this application or API is known to do: " +
			strings.Join(hosts.IDs(), ", "),
		Set: func(id string) error {
			h, known := hosts.ByID(id)
			if !known {
				return command.Usagef("--for: no application %q is known", id).WithHint(
					near.Instead(id, hosts.IDs()))
			}
			*host = &h
			return nil
		}}
}

// checkHost adds findings about what a host is known to do with the tools and instructions of a
// server that has the name id there.
func (r *Report) checkHost(h *hosts.Host, id, instructions string, tools []json.RawMessage) {
	add := func(severity, what, hint string) {
		r.add(severity, h.Title+" "+what, hint)
		r.Findings[len(r.Findings)-1].Source = h.Source + " (" + h.Date + ")"
	}
	// about adds a finding about some tools.
	about := func(severity, what string, names []string, hint string) {
		if len(names) > 0 {
			add(severity, what+": "+someOf(names), hint)
		}
	}
	var long, characters, described, refused []string
	for _, definition := range tools {
		name, _ := jsonscan.Text(jsonscan.Member(definition, "name"))
		text, _ := jsonscan.Text(jsonscan.Member(definition, "description"))
		whole := h.NamePrefix(id) + name
		if n := utf8.RuneCountInString(whole); h.MaxName > 0 && n > h.MaxName {
			long = append(long, fmt.Sprintf("%s (%d)", whole, n))
		}
		if strings.ContainsFunc(name, func(c rune) bool { return !h.Takes(c) }) {
			characters = append(characters, name)
		}
		if n := utf8.RuneCountInString(text); h.MaxDescription > 0 && n > h.MaxDescription {
			described = append(described, fmt.Sprintf("%s (%d)", name, n))
		}
		kind, _ := jsonscan.Text(jsonscan.Member(jsonscan.Member(definition, "inputSchema"), "type"))
		if kind != "object" {
			refused = append(refused, name)
		}
	}
	about(Warning, fmt.Sprintf("takes names of %d characters with its prefix %q, and %s", h.MaxName,
		h.NamePrefix(id), h.NameCut), long,
		"shorten them, or the name of the server there; a gateway can rename tools")
	about(Warning, "takes letters, digits, '_' and '-' in names, and replaces or refuses others",
		characters, "use only these characters")
	about(Warning, fmt.Sprintf("cuts descriptions after %d characters", h.MaxDescription), described,
		"say first when to use the tool")
	about(Warning, "expects an inputSchema of type object, as all APIs of models do", refused,
		`{"type":"object"} is that of a tool without arguments`)
	if h.MaxTools > 0 && len(tools) > h.MaxTools {
		add(Warning, fmt.Sprintf("takes %d tools of all servers together, and %s: there are %d",
			h.MaxTools, h.ToolsCut, len(tools)),
			`offer fewer ("tools" in the configuration of a gateway), or let models search for them`)
	}
	if n := utf8.RuneCountInString(instructions); h.MaxInstructions > 0 && n > h.MaxInstructions {
		add(Warning, fmt.Sprintf("cuts the instructions of a server after %d characters: there are %d",
			h.MaxInstructions, n), "say first what matters")
	}
	if h.MaxResult > 0 {
		add(note, fmt.Sprintf("does not show a model results of more than %d characters in full",
			h.MaxResult), "return large results in parts; no tool was called, so none is measured")
	}
}
