// Package pin remembers what the tools of servers looked like when they were first used, so that nobody changes them unseen (what is called a rug pull): a tool whose definition is
// another than it was is not to be used until somebody has looked at the difference and accepted it.
//
//	lock, err := pin.Open(path)
//	report, err := lock.Check(pin.Server{ID: "files", Name: "filesystem", Declared: capabilities}, tools)
//	for _, v := range report.Verdicts {
//		if !v.Usable() {
//			… // v.Changes says what is different
//		}
//	}
//	err = lock.Accept(server, tools, "read")
//
// # What is pinned
//
// All of a tool's definition: name, title, descriptions, schemas, annotations, icons, _meta, and what is not known here. What means the same in JSON is the same: white space, the order of
// members and escapes do not count. A pin holds for a server that goes by the same name, and for the same capabilities of the client, as servers offer different tools to different clients; to one
// that has become another, all its tools are new.
//
// # First use
//
// The tools of a server that was never seen are trusted, and pinned. One that it has more later is new, and is to be accepted; one that it has no more keeps its pin. Only
// [Lock.Accept] changes a pin, and only [Lock.Forget] takes one away.
package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Server is whose tools they are.
type Server struct {
	ID       string          // by which it is known here
	Name     string          // as it calls itself; its version does not count
	Declared json.RawMessage // the capabilities that it was told the client has, an object; nil for none
}

// A Verdict is what a tool is, compared with its pin.
type Verdict struct {
	Tool    string // its name
	State   State
	Changes []Change // Changed: what is different
}

// A Change is one difference between two definitions: where it is, as in inputSchema.properties.path.description, and what was and is there, as canonical JSON.
type Change = jsondiff.Change

// A State says how a tool stands to its pin.
type State string

const (
	First   State = "first"   // the server was not known: now it is pinned
	Same    State = "same"    // as it is pinned
	New     State = "new"     // the server was known, and did not have it
	Changed State = "changed" // it was another
)

// Usable reports whether the tool may be used: it was first seen now, or is as it was.
func (v *Verdict) Usable() bool { return v.State == First || v.State == Same }

// A Report is how the tools of a server stand.
type Report struct {
	First    bool      // the server was not known: what it has is pinned now
	Verdicts []Verdict // in the order of the tools
	Missing  []string  // what is pinned and not there any more, sorted
	Another  string    // the name that the server went by, or "capabilities", if it or they have changed since; "" if not
}

// pinned is a tool as it is remembered.
type pinned struct {
	SHA256     string          `json:"sha256"` // of definition
	Definition json.RawMessage `json:"definition"`
}

// known is a server as it is remembered.
type known struct {
	Name     string            `json:"name"`
	Declared json.RawMessage   `json:"declared"`
	Tools    map[string]pinned `json:"tools"`
}

// pinTool makes a pin of a definition.
func pinTool(definition []byte) (name string, p pinned, err error) {
	if err := jsonscan.Valid(definition); err != nil {
		return "", p, fmt.Errorf("a tool's definition is no JSON: %w", err)
	}
	name, ok := jsonscan.Text(jsonscan.Member(definition, "name"))
	if !ok {
		return "", p, errors.New("a tool's definition has no name")
	}
	text, err := jsondiff.Canonical(definition)
	if err != nil {
		return name, p, fmt.Errorf("the definition of the tool %.100q cannot be pinned: %w", name, err)
	}
	sum := sha256.Sum256(text)
	return name, pinned{hex.EncodeToString(sum[:]), text}, nil
}

// pinTools makes pins of definitions, and returns the names in their order.
func pinTools(tools []json.RawMessage) (names []string, pins map[string]pinned, err error) {
	pins = make(map[string]pinned, len(tools))
	for _, definition := range tools {
		name, p, err := pinTool(definition)
		if err != nil {
			return nil, nil, err
		}
		if _, twice := pins[name]; twice {
			return nil, nil, fmt.Errorf("there are two tools of the name %.100q", name)
		}
		names, pins[name] = append(names, name), p
	}
	return names, pins, nil
}

// declared is the canonical form of a server's Declared.
func (s *Server) declared() (json.RawMessage, error) {
	if len(s.Declared) == 0 {
		return json.RawMessage("{}"), nil
	}
	if err := jsonscan.Valid(s.Declared); err != nil {
		return nil, err
	}
	return jsondiff.Canonical(s.Declared)
}

// compare judges tools by what is known of their server.
func compare(k *known, s *Server, declared json.RawMessage, names []string, pins map[string]pinned) (r Report) {
	switch {
	case k.Name != s.Name:
		r.Another = k.Name
	case string(k.Declared) != string(declared):
		r.Another = "capabilities"
	}
	for _, name := range names {
		v := Verdict{Tool: name, State: New}
		if old, ok := k.Tools[name]; ok && r.Another == "" {
			v.State = Same
			if old.SHA256 != pins[name].SHA256 {
				v.State, v.Changes = Changed, jsondiff.Diff(old.Definition, pins[name].Definition)
			}
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Tools)) {
		if _, there := pins[name]; !there {
			r.Missing = append(r.Missing, name)
		}
	}
	return r
}
