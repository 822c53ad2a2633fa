package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An entry is the pin of one definition.
type entry struct {
	SHA256 string `json:"sha256"` // of the definition in canonical form
	// Definition has that form in the file. In memory it may be the text of an equal definition
	// that was checked, which its server's list holds anyway. If that is the list of a user, or no
	// longer has the item, the pin keeps the text, and with it the page that it came in.
	Definition json.RawMessage `json:"definition"`
}

// canonical returns the entry as it is in the file.
func (e entry) canonical(kind mcp.Kind) entry {
	if text, err := canonical(kind, e.Definition); err == nil { // it was checked
		e.Definition = text
	}
	return e
}

// serverPins are the pins of one server, by name. The map of a kind that was never checked is nil.
type serverPins struct {
	// Forgotten stands for pins that were removed where those of an earlier version without a
	// source would take their place.
	Forgotten    bool             `json:"forgotten,omitempty"`
	Name         string           `json:"name"`
	Capabilities json.RawMessage  `json:"declared"`
	Tools        map[string]entry `json:"tools,omitzero"`
	Prompts      map[string]entry `json:"prompts,omitzero"`
	Resources    map[string]entry `json:"resources,omitzero"`
	Templates    map[string]entry `json:"resourceTemplates,omitzero"`
	Apps         map[string]entry `json:"apps,omitzero"`
	Skills       map[string]entry `json:"skills,omitzero"`
	Instructions map[string]entry `json:"instructions,omitzero"` // at most one
}

// ofKind returns the pins of one kind.
func (sp *serverPins) ofKind(kind mcp.Kind) *map[string]entry {
	switch kind {
	case mcp.KindTool:
		return &sp.Tools
	case mcp.KindPrompt:
		return &sp.Prompts
	case mcp.KindResource:
		return &sp.Resources
	case mcp.KindResourceTemplate:
		return &sp.Templates
	case mcp.KindApp:
		return &sp.Apps
	case mcp.KindSkill:
		return &sp.Skills
	case Instructions:
		return &sp.Instructions
	}
	panic("pin: there is no kind " + string(kind))
}

// newEntry returns the name and the pin of a definition.
func newEntry(kind mcp.Kind, definition []byte) (name string, e entry, err error) {
	if err := jsonscan.Valid(definition); err != nil {
		return "", e, fmt.Errorf("the definition of a %s is not valid JSON: %w", kind, err)
	}
	key := keyOf(kind)
	name, ok := jsonscan.Text(jsonscan.Member(definition, key))
	if !ok {
		return "", e, fmt.Errorf("the definition of a %s has no %s", kind, key)
	}
	text, err := canonical(kind, definition)
	if err != nil {
		return name, e, fmt.Errorf("the definition of the %s %.100q cannot be pinned: %w", kind,
			name, err)
	}
	sum := sha256.Sum256(text)
	return name, entry{hex.EncodeToString(sum[:]), text}, nil
}

// canonical returns what is pinned of a definition, in canonical form.
func canonical(kind mcp.Kind, definition []byte) (json.RawMessage, error) {
	if kind == mcp.KindResource || kind == mcp.KindResourceTemplate {
		definition = withoutContentFields(definition)
	}
	return jsondiff.Canonical(definition)
}

// newEntries returns the pins of definitions by name, and the names in order.
func newEntries(kind mcp.Kind, definitions []json.RawMessage) (names []string,
	entries map[string]entry, err error) {
	entries = make(map[string]entry, len(definitions))
	size := 0
	for _, definition := range definitions {
		name, e, err := newEntry(kind, definition)
		if err != nil {
			return nil, nil, err
		}
		if _, duplicate := entries[name]; duplicate {
			return nil, nil,
				fmt.Errorf("two %ss have the %s %.100q", kind, keyOf(kind), name)
		}
		names, entries[name] = append(names, name), e
		if size += len(name) + len(e.Definition); size > maxKind {
			return nil, nil,
				fmt.Errorf("the definitions of its %ss have more than %d bytes, and are not pinned",
					kind, maxKind)
		}
	}
	return names, entries, nil
}

// clone returns a copy whose maps of pins may be changed.
func (sp *serverPins) clone() *serverPins {
	c := *sp
	for kind := range Kinds() {
		*c.ofKind(kind) = maps.Clone(*sp.ofKind(kind))
	}
	return &c
}

// canonical returns the pins as they are in the file.
func (sp *serverPins) canonical() *serverPins {
	c := *sp
	for kind := range Kinds() {
		if entries := *sp.ofKind(kind); entries != nil {
			own := make(map[string]entry, len(entries))
			for name, e := range entries {
				own[name] = e.canonical(kind)
			}
			*c.ofKind(kind) = own
		}
	}
	return &c
}

// has reports whether a definition of any kind with this name is pinned.
func (sp *serverPins) has(name string) bool {
	for kind := range Kinds() {
		if _, ok := (*sp.ofKind(kind))[name]; ok {
			return true
		}
	}
	return false
}

// withoutContentFields returns the definition of a resource or template without the members that
// change with its content (2025-06-18, Resource and Annotations). The JSON must be valid.
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

// removeMember returns an object without a member. Unless change is nil, it replaces each other
// value by the result of change.
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
		b = jsonscan.AppendMember(b, key, value)
	}
	return append(b, '}')
}
