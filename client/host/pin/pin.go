// Package pin records the definitions of tools, prompts, resources and resource templates at their
// first use, so that a server cannot change them unnoticed (a rug pull). A definition that differs
// from its pin must not be used until the user has seen the difference and accepted it.
//
//	lock, err := pin.Open(path)
//	server := pin.Server{ID: "files", Name: "filesystem", Capabilities: capabilities}
//	report, err := lock.Check(server, pin.Tool, tools)
//	for _, v := range report.Verdicts {
//		if !v.Usable() {
//			… // v.Changes says what is different
//		}
//	}
//	err = lock.Accept(server, pin.Tool, tools, "read")
//
// # What is pinned
//
// All of a definition: name, title, descriptions, schemas, annotations, icons, _meta, and what is
// not known here. What means the same in JSON is the same: white space, the order of members and
// escapes do not count. Neither do the size and the annotation lastModified of a resource or
// template, which change with the content. A pin holds for a server that goes by the same name, and
// for the same capabilities of the client, as servers offer different tools to different clients;
// to one that has become another, all that it has is new.
//
// # First use
//
// What a server that was never seen has is trusted, and pinned, each [Kind] by itself: a file that
// was written before there were pins of a kind knows nothing of it. What the server has more later
// is new, and is to be accepted; what it has no more keeps its pin. Only [Lock.Accept] changes a
// pin, and only [Lock.Forget] takes one away.
package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Server is whose tools they are.
type Server struct {
	ID   string // by which it is known here
	Name string // as it calls itself; its version does not count
	// the capabilities that it was told the client has, an object; nil for none
	Capabilities json.RawMessage
}

// A Verdict is what a definition is, compared with its pin.
type Verdict struct {
	Name    string // the name of a tool or prompt, the URI of a resource, or a URI template
	State   State
	Changes []Change // Changed: what is different
}

// A Change is one difference between two definitions: where it is, as in
// inputSchema.properties.path.description, and what was and is there, as canonical JSON.
type Change = jsondiff.Change

// A State says how a definition stands to its pin.
type State string

const (
	First   State = "first"   // nothing of this kind was known of the server: now it is pinned
	Same    State = "same"    // as it is pinned
	New     State = "new"     // what the server has of this kind was known, and this was not there
	Changed State = "changed" // it was another
)

// Usable reports whether it may be used: it was first seen now, or is as it was.
func (v *Verdict) Usable() bool { return v.State == First || v.State == Same }

// A Report is how what a server has of one kind stands.
type Report struct {
	First    bool      // nothing of this kind was known
	Verdicts []Verdict // in the order of the definitions
	Missing  []string  // what is pinned and not there any more, sorted
	// the name that the server went by, or "capabilities", if it or they have changed since; "" if
	// not
	IdentityChange string
}

// entry is a definition as it is remembered.
type entry struct {
	SHA256     string          `json:"sha256"` // of definition
	Definition json.RawMessage `json:"definition"`
}

// serverPins is a server as it is remembered. A kind that is nil was never looked at; one that is
// empty was, and there was none.
type serverPins struct {
	Name         string           `json:"name"`
	Capabilities json.RawMessage  `json:"declared"`
	Tools        map[string]entry `json:"tools,omitzero"`
	Prompts      map[string]entry `json:"prompts,omitzero"`
	Resources    map[string]entry `json:"resources,omitzero"`
	Templates    map[string]entry `json:"resourceTemplates,omitzero"`
}

// ofKind returns what is known of a kind.
func (sp *serverPins) ofKind(kind Kind) *map[string]entry {
	switch kind {
	case Tool:
		return &sp.Tools
	case Prompt:
		return &sp.Prompts
	case Resource:
		return &sp.Resources
	case Template:
		return &sp.Templates
	}
	panic("pin: there is no kind " + string(kind))
}

// newEntry makes a pin of a definition.
func (kind Kind) newEntry(definition []byte) (name string, e entry, err error) {
	if err := jsonscan.Valid(definition); err != nil {
		return "", e, fmt.Errorf("a %s's definition is no JSON: %w", kind, err)
	}
	key := nameMembers[kind]
	name, ok := jsonscan.Text(jsonscan.Member(definition, key))
	if !ok {
		return "", e, fmt.Errorf("a %s's definition has no %s", kind, key)
	}
	if kind == Resource || kind == Template {
		definition = withoutContentFields(definition)
	}
	text, err := jsondiff.Canonical(definition)
	if err != nil {
		return name, e, fmt.Errorf("the definition of the %s %.100q cannot be pinned: %w", kind,
			name, err)
	}
	sum := sha256.Sum256(text)
	return name, entry{hex.EncodeToString(sum[:]), text}, nil
}

// newEntries makes pins of definitions, and returns the names in their order.
func (kind Kind) newEntries(definitions []json.RawMessage) (names []string, entries map[string]entry,
	err error) {
	entries = make(map[string]entry, len(definitions))
	size := 0
	for _, definition := range definitions {
		name, e, err := kind.newEntry(definition)
		if err != nil {
			return nil, nil, err
		}
		if _, duplicate := entries[name]; duplicate {
			return nil, nil,
				fmt.Errorf("there are two %ss of the %s %.100q", kind, nameMembers[kind], name)
		}
		names, entries[name] = append(names, name), e
		if size += len(name) + len(e.Definition); size > maxKind {
			return nil, nil,
				fmt.Errorf("the definitions of its %ss are larger than %d bytes, and are not pinned",
					kind, maxKind)
		}
	}
	return names, entries, nil
}

// canonicalCapabilities is the canonical form of a server's Declared.
func (s *Server) canonicalCapabilities() (json.RawMessage, error) {
	if len(s.Capabilities) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := jsonscan.Valid(s.Capabilities); err != nil {
		return nil, err
	}
	return jsondiff.Canonical(s.Capabilities)
}

// newReport judges definitions by what is known of their kind and server.
func newReport(sp *serverPins, kind Kind, s *Server, declared json.RawMessage, names []string,
	entries map[string]entry) (r Report) {
	switch {
	case sp.Name != s.Name:
		r.IdentityChange = sp.Name
	case string(sp.Capabilities) != string(declared):
		r.IdentityChange = "capabilities"
	}
	pinned := *sp.ofKind(kind)
	r.First = pinned == nil && r.IdentityChange == ""
	for _, name := range names {
		v := Verdict{Name: name, State: New}
		if old, ok := pinned[name]; ok && r.IdentityChange == "" {
			v.State = Same
			if old.SHA256 != entries[name].SHA256 {
				v.State, v.Changes = Changed, jsondiff.Diff(old.Definition, entries[name].Definition)
			}
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		if _, found := entries[name]; !found {
			r.Missing = append(r.Missing, name)
		}
	}
	return r
}
