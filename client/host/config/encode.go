package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Settings yields the names and values, as text, of the members of the definition, in stdwire's own
// form, that determine how a server is managed: era, times, limits, perSession, required, disabled
// and tools. Default values are omitted.
func (s *Server) Settings() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, m := range encodeFields(settingFields(), s) {
			text, ok := jsonscan.Text(m.JSON)
			if !ok {
				text = string(m.JSON)
			}
			if !yield(m.Name, text) {
				return
			}
		}
	}
}

// JSON returns the definition in stdwire's own form on one line, with unknown members. Variables
// are not expanded.
func (s *Server) JSON() []byte {
	all := encodeFields(serverFields(), s)
	for _, o := range s.extraFields {
		text, _ := jsonscan.AppendCompact(nil, o.json) // it has been validated
		all = append(all, jsonedit.Item{Name: o.name, JSON: text})
	}
	return jsonedit.Object(all)
}

// Encode returns a file in stdwire's own form, without a final line end: servers, and inputs and
// profiles unless they are nil.
func Encode(servers []*Server, inputs []Input, profiles map[string][]string) []byte {
	var all []jsonedit.Item
	for _, s := range servers {
		all = append(all, jsonedit.Item{Name: s.ID, JSON: s.JSON()})
	}
	text := append([]byte(`{"mcpServers":`), jsonedit.Object(all)...)
	if len(inputs) > 0 {
		var all []jsonedit.Item
		for _, input := range inputs {
			all = append(all, jsonedit.Item{JSON: input.JSON()})
		}
		text = append(append(text, `,"inputs":`...), jsonedit.Array(all)...)
	}
	if len(profiles) > 0 {
		text = append(append(text, `,"profiles":`...), jsonedit.Encode(profiles)...)
	}
	return jsonedit.Indent(append(text, '}'), "", "  ")
}

// JSON returns the description of an input on one line.
func (input Input) JSON() []byte {
	return jsonedit.Encode(struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		Description string `json:"description,omitempty"`
		Password    bool   `json:"password,omitempty"`
	}{"promptString", input.ID, input.Description, input.Password})
}

// Digest returns the SHA-256 of the server's workspace, id and definition in stdwire's own form,
// without the member disabled. It covers the names and defaults of variables but not their values,
// so that a token may change, and the names of files but not their contents.
func (s *Server) Digest() string {
	fields := slices.DeleteFunc(serverFields(),
		func(f field[*Server]) bool { return f.outsideDigest })
	return digest(s.Workspace, s.ID, definition(fields, s))
}

// TrustDigest returns the SHA-256 of the parts of a definition that a user accepts: those of
// Digest, whether the server is disabled, and the descriptions of its inputs.
func (s *Server) TrustDigest() string {
	if !s.Disabled && len(s.Inputs) == 0 {
		return s.Digest()
	}
	return digest(s.Workspace, s.ID, definition(serverFields(), s), s.Inputs)
}

// definition returns the members of a server, to be encoded.
func definition(fields []field[*Server], s *Server) json.RawMessage {
	return jsonedit.Object(encodeFields(fields, s))
}

// TrustDigest returns the SHA-256 of the profile's workspace, name and servers.
func (p *Profile) TrustDigest() string { return digest(p.Workspace, "profile", p.Name, p.Servers) }

func digest(parts ...any) string {
	sum := sha256.Sum256(jsonedit.Encode(parts)) // the keys of maps are sorted
	return hex.EncodeToString(sum[:])
}
