package policy

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
)

// An Item is what a caller wants to use.
type Item struct {
	Kind ItemKind
	// Server is the ID of the server that has it; "": it is not known yet.
	Server string
	Name   string // the server's own name of a tool or prompt, a URI, or a URI template
	Risk   Risk   // of a tool
	Open   bool   // a tool may reach into an open world
}

// An ItemKind is one of the kinds that rules distinguish.
type ItemKind uint8

const (
	Tool ItemKind = iota
	Prompt
	Resource // and skills
	Template // a URI template, whose Name stands for the URIs that it matches
)

// Risk is what a tool may do, at worst. Prompts and resources only read.
type Risk uint8

const (
	Read        Risk = iota // readOnlyHint is true
	Write                   // destructiveHint is false
	Destructive             // neither of them, so also without hints
)

// what has the conditions about an item, all of which must hold. nil says nothing.
type what struct {
	servers []string // patterns, any of them
	// names are patterns by kind, any of them; if there are none for any kind, the rule is for all
	tools, prompts, resources []string
	risks                     []Risk
	open                      bool // or, if there are risks as well, any of both
}

func (w *what) holds(i *Item) outcomes {
	if w == nil {
		return isTrue
	}
	all := isTrue
	if w.tools != nil || w.prompts != nil || w.resources != nil {
		patterns := [...][]string{Tool: w.tools, Prompt: w.prompts, Resource: w.resources,
			Template: w.resources}[i.Kind]
		all = matchName(patterns, i)
	}
	if all == isFalse || !w.matchesRisk(i) {
		return isFalse
	}
	switch {
	case w.servers == nil:
	case i.Server == "":
		all = all.and(anything)
	default:
		all = all.and(outcome(matchAny(w.servers, i.Server)))
	}
	return all
}

func (w *what) matchesRisk(i *Item) bool {
	if w.risks == nil && !w.open {
		return true
	}
	if w.open && i.Open && i.Kind == Tool {
		return true
	}
	for _, risk := range w.risks {
		if risk == Read && i.Kind != Tool || risk == i.Risk && i.Kind == Tool {
			return true
		}
	}
	return false
}

func matchAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if pattern == name || itemname.Match(pattern, name) {
			return true
		}
	}
	return false
}

// matchName compares the name of an item. A template may match URIs of which some match a pattern
// and others do not.
func matchName(patterns []string, i *Item) outcomes {
	switch {
	case i.Kind == Resource && climbs(i.Name) && !slices.Contains(patterns, i.Name) &&
		!slices.Contains(patterns, "*"):
		return isUnclear // its server may read another one
	case i.Kind != Template:
		return outcome(matchAny(patterns, i.Name))
	}
	all := isFalse
	fixed, _, _ := strings.Cut(i.Name, "{")
	for _, pattern := range patterns {
		literal, rest := pattern, ""
		if at := strings.IndexAny(pattern, "*?"); at >= 0 {
			literal, rest = pattern[:at], pattern[at:]
		}
		switch {
		case rest == "*" && strings.HasPrefix(fixed, literal):
			return isTrue
		case strings.HasPrefix(fixed, literal) || strings.HasPrefix(literal, fixed):
			all = isTrue | isFalse
		}
	}
	return all
}
