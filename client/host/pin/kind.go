package pin

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Kind is what a definition is of.
type Kind string

const (
	Tool     Kind = "tool"
	Prompt   Kind = "prompt"
	Resource Kind = "resource"
	Template Kind = "resource template"
)

// Kinds returns all of them.
func Kinds() []Kind { return []Kind{Tool, Prompt, Resource, Template} }

// nameMembers are the members by which definitions are known.
var nameMembers = map[Kind]string{Tool: "name", Prompt: "name", Resource: "uri",
	Template: "uriTemplate"}

// Name returns by which name or URI a definition is known; "" if it has none.
func (kind Kind) Name(definition json.RawMessage) string {
	name, _ := jsonscan.Text(jsonscan.Member(definition, nameMembers[kind]))
	return name
}

// Distinct returns those definitions that have a name, and of several with the same the first: what
// can be pinned, and used.
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

// withoutContentFields returns the definition of a resource without what changes with its content
// (2025-06-18, Resource and Annotations). The JSON is valid.
func withoutContentFields(definition []byte) []byte {
	if len(definition) == 0 || definition[0] != '{' {
		return definition
	}
	return removeMember(definition, "size", func(key, value []byte) []byte {
		if jsonscan.KeyIs(key, "annotations") && len(value) > 0 && value[0] == '{' {
			return removeMember(value, "lastModified", nil)
		}
		return value
	})
}

// removeMember returns an object without a member, and with the values that change makes of the
// others; nil leaves them.
func removeMember(object []byte, member string,
	change func(key, value []byte) []byte) json.RawMessage {
	b := []byte{'{'}
	for key, value := range jsonscan.Members(object) {
		if jsonscan.KeyIs(key, member) {
			continue
		}
		if change != nil {
			value = change(key, value)
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}')
}
