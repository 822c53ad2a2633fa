package pin

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Kind is the kind of a definition.
type Kind string

const (
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Resource Kind = "resource"
	Template Kind = "resource template"
	App      Kind = "app"   // the page that a host shows beside a tool's results
	Skill    Kind = "skill" // the digests of its files are part of its definition
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Tool, Prompt, Resource, Template, App, Skill} }

// nameMembers are the members that identify definitions.
var nameMembers = map[Kind]string{Tool: "name", Prompt: "name", Resource: "uri",
	Template: "uriTemplate", App: "uri", Skill: "uri"}

// Name returns the name of a tool or prompt, the URI of a resource, app or skill, or the URI
// template, from its definition. It returns "" if the definition has none.
func (kind Kind) Name(definition json.RawMessage) string {
	name, _ := jsonscan.Text(jsonscan.Member(definition, nameMembers[kind]))
	return name
}

// Distinct returns the definitions that have a name, and only the first of several with the same
// name. [File.Check] returns an error for the others.
func Distinct(kind Kind, definitions []json.RawMessage) (distinct []json.RawMessage) {
	seen := map[string]bool{"": true}
	for _, definition := range definitions {
		if name := kind.Name(definition); !seen[name] {
			seen[name] = true
			distinct = append(distinct, definition)
		}
	}
	return distinct
}
