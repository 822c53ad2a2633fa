package config

import (
	"iter"
	"strings"
	"time"

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

// shortDuration formats a duration without zero minutes and seconds at the end: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
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
