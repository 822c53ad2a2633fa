package config

import (
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition is a server in stdwire's own form.
type definition struct {
	Command        string            `json:"command,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	EnvFile        string            `json:"envFile,omitempty"`
	InheritEnv     []string          `json:"inheritEnv,omitempty"`
	Type           string            `json:"type,omitempty"`
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	OAuth          *oauthJSON        `json:"oauth,omitempty"`
	TLSCA          string            `json:"tlsCA,omitempty"`
	TLSClientCert  string            `json:"tlsClientCert,omitempty"`
	TLSClientKey   string            `json:"tlsClientKey,omitempty"`
	Era            string            `json:"era,omitempty"`
	StartTimeoutMs *int64            `json:"startTimeoutMs,omitempty"`
	CallTimeoutMs  *int64            `json:"callTimeoutMs,omitempty"`
	IdleStop       string            `json:"idleStop,omitempty"`
	PerSession     bool              `json:"perSession,omitempty"`
	Required       bool              `json:"required,omitempty"`
	MaxArguments   int               `json:"maxArguments,omitempty"`
	MaxResult      int               `json:"maxResult,omitempty"`
	Disabled       bool              `json:"disabled,omitempty"`
	Tools          *tools            `json:"tools,omitempty"`
}

type tools struct {
	Allow *[]string `json:"allow,omitempty"` // nil is omitted, an empty array is not
	Deny  []string  `json:"deny,omitempty"`
}

// definition returns the server in stdwire's own form.
func (s *Server) definition() definition {
	d := definition{
		Command: s.Command, Args: s.Args, Cwd: s.Dir, Env: s.Env, EnvFile: s.EnvFile,
		InheritEnv: s.InheritEnv, URL: s.URL, Headers: s.Headers, OAuth: (*oauthJSON)(s.OAuth),
		TLSCA: s.TLS.CA, TLSClientCert: s.TLS.ClientCert, TLSClientKey: s.TLS.ClientKey,
		StartTimeoutMs: milliseconds(s.StartTimeout), CallTimeoutMs: milliseconds(s.CallTimeout),
		PerSession: s.PerSession, Required: s.Required, Disabled: s.Disabled,
		MaxArguments: s.MaxArguments, MaxResult: s.MaxResult,
	}
	if s.URL != "" {
		d.Type = "http"
	}
	if s.Era != 0 {
		d.Era = map[mcp.Era]string{mcp.Modern: "modern", mcp.Legacy: "legacy"}[s.Era]
	}
	if s.IdleStop != 0 {
		d.IdleStop = shortDuration(max(s.IdleStop, 0))
	}
	if s.Filter.Allow != nil || s.Filter.Deny != nil {
		d.Tools = &tools{Deny: s.Filter.Deny}
		if s.Filter.Allow != nil {
			d.Tools.Allow = &s.Filter.Allow
		}
	}
	return d
}

// A Setting is a member of a definition, as text.
type Setting struct{ Name, Value string }

// Settings returns the members of the definition, in stdwire's own form, that determine how a
// server is managed: era, times, limits, perSession, required, disabled and tools. Default
// values are omitted.
func (s *Server) Settings() (all []Setting) {
	d := s.definition()
	d.Command, d.Args, d.Cwd, d.Env, d.EnvFile, d.InheritEnv = "", nil, "", nil, "", nil
	d.Type, d.URL, d.Headers, d.OAuth = "", "", nil, nil
	d.TLSCA, d.TLSClientCert, d.TLSClientKey = "", "", ""
	for name, value := range jsonscan.Members(jsonedit.Encode(d)) {
		text, ok := jsonscan.Text(value)
		if !ok {
			text = string(value)
		}
		key, _ := jsonscan.Text(name)
		all = append(all, Setting{key, text})
	}
	return all
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

// milliseconds rounds a duration up. It returns nil for 0, which is the default, and 0 for a
// negative one, which is no limit.
func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := (max(d, 0) + time.Millisecond - 1).Milliseconds()
	return &ms
}

// JSON returns the definition in stdwire's own form on one line, with unknown members. Variables
// are not expanded.
func (s *Server) JSON() []byte {
	text := jsonedit.Encode(s.definition())
	for _, o := range s.extraFields {
		text = text[:len(text)-1]
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(jsonscan.AppendString(text, o.name), ':')
		text, _ = jsonscan.AppendCompact(text, o.json) // it has been validated
		text = append(text, '}')
	}
	return text
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
