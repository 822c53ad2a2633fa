package config

import (
	"slices"
	"testing"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// Whatever a file has in it: every server is usable or says why not, and one that is usable is the
// same when it is written down in stdwire's own form.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers": {"a": {"command": "x", "args": ["--token", "t0ken"], "env": {"A": "t0ken${B:-t0ken}"}, "timeout": 1}}, "profiles": {"p": ["a"]}}`,
		`{"mcp": {"a": {"type": "remote", "url": "https://t0ken@x/?a=t0ken#t0ken", "headers": {"A": "Bearer t0ken{env:A}"}, "oauth": {"x": "t0ken"}}}}`,
		`{"servers": {"a": {"command": "npx -y 'x y'", "tools": {"allow": ["a*"], "deny": []}, "idleStop": "1h", "envFile": ".env"}}, "inputs": [{"id": "x"}]}`,
		`{"mcpProxy": {}, "mcpServers": {"a": {"url": "http://x", "timeout": 1500000, "options": {"disabled": true, "toolFilter": {"mode": "block", "list": ["a"]}}}}}`,
		`{"context_servers": {"a": {"command": ["x"], "timeout": 9, "enabled": false}}}`,
		"[mcp_servers.a]\ncommand = 'x'\nenv.A = 't0ken'\nenv_vars = ['B']\n[mcp_servers.b]\nurl = 'http://x'\nbearer_token_env_var = 'A'\ntool_timeout_sec = 1.5",
		"{\"mcpServers\": { // a\n/* b */ \"a\": {\"command\": \"x\"} /* c */, // d\n // e\n \"b\": {\"url\": \"http://x\"} // f\n}}",
		`{"mcpServers": {"a": {"command": "x", "overrides": {"t": {"name": "u", "title": "t0ken", "annotations": {"readOnlyHint": true}, "tags": ["a"], "arguments": {"p": {"name": "q", "default": [1]}, "h": {"value": "x", "hidden": true}}}, "prompt:p": {"hidden": true}}}}}`,
		`{"a": {"url": "http://x"}}`, `{"a":{"command":"x"},"a":{"url":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		env := world(map[string]string{"A": "1"}, map[string]string{"/project/.env": "B=1"})
		file := Parse(env, Source{Path: "f", Workspace: "/project"}, data)
		if !mcpjson.IsTOML("f", data) && !slices.ContainsFunc(file.Diagnostics,
			func(d Diagnostic) bool { return d.Severity == SeverityError }) {
			checkSchema(t, string(data), file)
		}
		for _, d := range file.Diagnostics {
			if d.Message == "" || d.Line < 1 || d.Column < 1 {
				t.Fatalf("%#v", d)
			}
		}
		var usable []*Server
		for _, s := range file.Servers {
			if s.Err != nil {
				if _, err := s.Resolve(env); err != s.Err {
					t.Fatalf("%v", err)
				}
				continue
			}
			if itemname.CheckID(s.ID) != nil || (s.Command == "") == (s.URL == "") {
				t.Fatalf("%+v", s)
			}
			_, err := s.Resolve(env)
			if e, ok := err.(*ResolveError); err != nil &&
				(!ok || e.Missing == nil && e.Err == nil) {
				t.Fatalf("%v", err)
			}
			usable = append(usable, s)
		}
		if file.Err() != nil {
			return
		}
		text := Encode(usable, file.Inputs, nil)
		again := Parse(env, Source{Path: "f", Workspace: "/project"}, text)
		if again.Err() != nil || len(again.Servers) != len(usable) {
			t.Fatalf("%q became %q: %v", data, text, again.Err())
		}
		for i, s := range again.Servers {
			if s.Err != nil || string(s.JSON()) != string(usable[i].JSON()) ||
				s.Digest() != usable[i].Digest() {
				t.Fatalf("%q became %q: %v", usable[i].JSON(), s.JSON(), s.Err)
			}
		}
	})
}
