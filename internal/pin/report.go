package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Report is the result of comparing a server's definitions of one kind with their pins.
type Report struct {
	// First says that the kind was never checked before. [File.Check] has pinned all definitions.
	First    bool
	Verdicts []Verdict // in the order of the definitions
	Missing  []string  // the names of pins without a definition, sorted
	// IdentityChange is the former name of the server if that has changed, "capabilities" if the
	// capabilities have changed, and "" otherwise.
	IdentityChange string
	Revision       int // [File.Revision] when the definitions were compared

	name     string   // the present name of the server
	compared []string // name and capabilities, as pinned and as they are
}

// Digest returns a digest, in hex, of what the definitions were compared with: their pins, and the
// identity of the server as it was and as it is. IdentityText shortens the latter.
func (r *Report) Digest() (string, error) {
	all := slices.Clone(r.compared)
	for _, v := range r.Verdicts {
		all = append(all, v.Name, string(v.Pinned))
	}
	text, err := json.Marshal(all)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// IdentityText describes IdentityChange on one line: both names, so that they visibly differ, or
// "capabilities". It returns "" if the identity is the same.
func (r *Report) IdentityText() string {
	if r.IdentityChange == "" || r.IdentityChange == capabilitiesChange {
		return r.IdentityChange
	}
	old, now := printable.Difference(string(jsonscan.AppendString(nil, r.IdentityChange)),
		string(jsonscan.AppendString(nil, r.name)), 200)
	return old + " → " + now
}

// capabilitiesChange is the IdentityChange if the capabilities have changed.
const capabilitiesChange = "capabilities"

// isSame reports whether there are definitions, and all of them equal their pins.
func (r *Report) isSame() bool {
	return len(r.Verdicts) > 0 &&
		!slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return !v.Usable() })
}

// A Verdict is the result for one definition.
type Verdict struct {
	Name    string // the name of a tool or prompt, the URI of a resource, or the URI template
	State   State
	Changes []jsondiff.Change // the differences of a StateChanged definition
	Pinned  json.RawMessage   // what is pinned under the name; nil: nothing
}

// Usable reports whether the definition equals its pin, and so may be used.
func (v *Verdict) Usable() bool { return v.State == StateSame }

// A State is the relation of a definition to its pin.
type State string

const (
	StateSame    State = "same"    // the definition equals its pin
	StateNew     State = "new"     // the definition has no pin
	StateChanged State = "changed" // the definition differs from its pin
)

// newReport compares the definitions with these names and entries with the pins of a server.
func newReport(sp *serverPins, kind mcp.Kind, s *Server, capabilities json.RawMessage,
	names []string, entries map[string]entry) (r Report) {
	r.name = s.Name
	r.compared = []string{sp.Name, string(sp.Capabilities), s.Name, string(capabilities)}
	switch {
	case sp.Name != s.Name:
		r.IdentityChange = sp.Name
	case string(sp.Capabilities) != string(capabilities):
		r.IdentityChange = capabilitiesChange
	}
	pinned := *sp.ofKind(kind)
	r.First = pinned == nil && r.IdentityChange == ""
	for _, name := range names {
		old, ok := pinned[name]
		now := entries[name]
		v := Verdict{Name: name, State: StateNew}
		if ok && old.SHA256 == now.SHA256 {
			v.Pinned = now.Definition
		} else if ok {
			v.Pinned = old.canonical(kind).Definition
		}
		if ok && r.IdentityChange == "" {
			v.State = StateSame
			if old.SHA256 != now.SHA256 {
				v.State, v.Changes = StateChanged, jsondiff.Diff(v.Pinned, now.Definition)
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
