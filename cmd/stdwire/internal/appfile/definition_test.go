package appfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/config"
)

const edited = `// my servers
{
  "mcpServers": {
    "one": {
      "command": "run", // the program
      "args": ["--token", "s3cret", "x"],
      // what it needs
      "env": {"A": "hidden1", "B": "${B}", "C": "hidden2"},
      "era": "legacy"
    },
    "two": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer hidden3"}}
  },
  "other": 1
}
`

func editedFile(t *testing.T, data string) *File {
	f := Parse(world(nil), config.Source{Path: "t.json"}, []byte(data))
	assert.NilError(t, f.Err())
	return f
}

// The definition has no secret, and is what can be put back.
func TestDefinition(t *testing.T) {
	f := editedFile(t, edited)
	text, err := f.Definition("one")
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{
  "command": "run",
  "args": [
    "--token",
    "…1",
    "x"
  ],
  "env": {
    "A": "…2",
    "B": "${B}",
    "C": "…3"
  },
  "era": "legacy"
}`)
	c, err := f.Put("one", "one", text)
	assert.NilError(t, err)
	assert.Assert(t, !c.Changed(), "%s", c.After)
	_, err = f.Definition("three")
	assert.ErrorIs(t, err, ErrNotInstalled)
}

// Of oauth, only what may be secret is hidden.
func TestDefinitionOAuth(t *testing.T) {
	for _, tt := range []struct{ oauth, shown string }{
		{`false`, `false`},
		{`"hidden1"`, `"…1"`},
		{`{"clientId":"me","clientSecret":"hidden1","issuer":"https://issuer.example/a","scope":"a b","allowPrivate":true}`,
			`{"clientId":"me","clientSecret":"…1","issuer":"https://issuer.example/a","scope":"a b","allowPrivate":true}`},
		{`{"client_id":"${ID}","CLIENT_SECRET":"${SECRET}","scopes":["a","b"],"callbackPort":8123}`,
			`{"client_id":"${ID}","CLIENT_SECRET":"${SECRET}","scopes":["a","b"],"callbackPort":8123}`},
		{`{"clientId":5,"issuer":"https://hidden1@issuer.example?a=hidden2","redirectUri":["hidden3"],"unknown":"hidden4"}`,
			`{"clientId":5,"issuer":"…1","redirectUri":"…2","unknown":"…3"}`},
		{`{"clientId":"ghp_0123456789abcdefghij","clientSecret":"a${B:-hidden1}"}`,
			`{"clientId":"…1","clientSecret":"…2"}`},
	} {
		f := editedFile(t, `{"mcpServers":{"one":{"url":"https://a.example","oauth":`+tt.oauth+`}}}`)
		text, err := f.Definition("one")
		assert.NilError(t, err)
		var compact bytes.Buffer
		assert.NilError(t, json.Compact(&compact, text))
		assert.Equal(t, compact.String(), `{"url":"https://a.example","oauth":`+tt.shown+`}`)
	}
}

// What is not changed keeps its comments, its order and its secrets.
func TestPut(t *testing.T) {
	f := editedFile(t, edited)
	c, err := f.Put("one", "one", []byte(`{"command": "run", "args": ["--token", "…1", "y"],
		"env": {"D": "new", "A": "…2", "C": "…3"}, "callTimeoutMs": 5}`))
	assert.NilError(t, err)
	assert.Equal(t, string(c.After), `// my servers
{
  "mcpServers": {
    "one": {
      "command": "run", // the program
      "args": [
        "--token",
        "s3cret",
        "y"
      ],
      // what it needs
      "env": {"A": "hidden1", "C": "hidden2",
        "D": "new"
      },
      "callTimeoutMs": 5
    },
    "two": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer hidden3"}}
  },
  "other": 1
}
`)
	diff := c.Diff()
	for _, secret := range []string{"s3cret", "hidden", "new"} {
		assert.Assert(t, !strings.Contains(diff, secret), "%s", diff)
	}
	assert.Assert(t, cmp.Contains(diff, `+      "callTimeoutMs": 5`))
	assert.Assert(t, cmp.Contains(diff, `-      "era": "legacy"`))
	assert.Assert(t, !strings.Contains(diff, "two"), "%s", diff)

	// a copy under another name has the secrets, too
	c, err = f.Put("copy", "two", []byte(`{"url": "https://example.com/other",
		"headers": {"Authorization": "…1"}}`))
	assert.NilError(t, err)
	copied := editedFile(t, string(c.After)).Servers[2]
	assert.Equal(t, copied.ID, "copy")
	assert.Equal(t, copied.Headers["Authorization"], "Bearer hidden3")
	assert.Assert(t, !strings.Contains(c.Diff(), "hidden3"))
}

func TestPutRefused(t *testing.T) {
	f := editedFile(t, edited)
	for _, tt := range []struct{ id, from, definition, err string }{
		{"one", "", `{"command": "x"}`, "t.json already has a different one"},
		{"two", "one", `{"command": "x"}`, "t.json already has a different two"},
		{"a b", "", `{"command": "x"}`, "the server ID"},
		{"new", "", `{"command": "x", "env": {"A": "…1"}}`, "…1 stands for no value of the server"},
		{"one", "one", `{"command": "x", "env": {"A": "…4"}}`, "…4 stands for no value"},
		{"one", "one", `{"command": "…2"}`, "…2 cannot be here, where the value would be visible"},
		{"one", "one", `{"command": "x", "args": ["…1"]}`, "…1 cannot be here"},
		{"one", "one", `{"command": "x", "cwd": "…2", "env": {"A": "…2"}}`, "…2 cannot be here"},
		{"one", "one", `{"era": "new"}`, "era"},
		{"one", "one", `{"command": "x", "command": "y"}`, "twice"},
		{"one", "one", `[]`, "a definition must be an object"},
		{"one", "one", ``, "a definition must be an object"},
		{"one", "one", `{`, "1:2"},
		{"three", "three", `{}`, ErrNotInstalled.Error()},
	} {
		_, err := f.Put(tt.id, tt.from, []byte(tt.definition))
		assert.ErrorContains(t, err, tt.err, "%s: %s", tt.id, tt.definition)
		assert.Assert(t, !strings.Contains(err.Error(), "hidden"))
	}
}

func TestRemove(t *testing.T) {
	c, err := editedFile(t, edited).Remove("one")
	assert.NilError(t, err)
	assert.Equal(t, string(c.After), `// my servers
{
  "mcpServers": {
    "two": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer hidden3"}}
  },
  "other": 1
}
`)
	_, err = editedFile(t, edited).Remove("three")
	assert.Assert(t, errors.Is(err, ErrNotInstalled))
}

// A diff shows nothing of the line but the definition.
func TestPutOneLine(t *testing.T) {
	f := editedFile(t, `{"key": "outside", "mcpServers": {"a": {"command": "x", "cwd": "/"}, "b": {"command": "y"}}, "z": "outside"}`)
	c, err := f.Put("a", "a", []byte(`{"command": "z"}`))
	assert.NilError(t, err)
	assert.Equal(t, string(c.After),
		`{"key": "outside", "mcpServers": {"a": {"command": "z"}, "b": {"command": "y"}}, "z": "outside"}`)
	assert.Equal(t, c.Diff(), `t.json
@@ line 1 @@
-{"command": "x", "cwd": "/"}
+{"command": "z"}
`)
}

// A server that is no object becomes one.
func TestPutInvalid(t *testing.T) {
	f := editedFile(t, `{"mcpServers": {"a": "x"}}`)
	c, err := f.Put("a", "a", []byte(`{"command": "z"}`))
	assert.NilError(t, err)
	assert.Equal(t, editedFile(t, string(c.After)).Servers[0].Command, "z")
}

// Files of all forms are edited where their servers are.
func TestPutForms(t *testing.T) {
	for name, data := range map[string]string{
		"empty.json":   "",
		"servers.json": `{"servers": {"My Server": {"command": "x", "env": {"K": "v"}}}}`,
		"zed.json":     `{"context_servers": {"My Server": {"command": "x", "env": {"K": "v"}}}}`,
		"mcp.json":     `{"mcp": {"servers": {"My Server": {"command": "x", "env": {"K": "v"}}}}}`,
		"claude.json":  `{"projects": {"/w": {"mcpServers": {"My Server": {"command": "x", "env": {"K": "v"}}}}}}`,
		"whole.json":   `{"My Server": {"command": "x", "env": {"K": "v"}}}`,
		"codex.toml":   "[mcp_servers.\"My Server\"]\ncommand = \"x\" # stays\nenv = {K = \"v\"}\n",
		"new.toml":     "",
	} {
		t.Run(name, func(t *testing.T) {
			env := world(nil)
			source := config.Source{Path: name, Workspace: "/w", Rename: true}
			f := Parse(env, source, []byte(data))
			c, err := f.Put("new", "", []byte(`{"command": "y"}`))
			assert.NilError(t, err)
			f = Parse(env, source, c.After)
			if data != "" {
				text, err := f.Definition("My-Server")
				assert.NilError(t, err)
				assert.Assert(t, cmp.Contains(string(text), `"…1"`))
				c, err = f.Put("My-Server", "My-Server",
					[]byte(strings.Replace(string(text), `"x"`, `"z"`, 1)))
				assert.NilError(t, err)
				f = Parse(env, source, c.After)
				assert.Equal(t, f.Servers[0].Command, "z")
				assert.Equal(t, f.Servers[0].Env["K"], "v")
				c, err = f.Remove("My-Server")
				assert.NilError(t, err)
				f = Parse(env, source, c.After)
			}
			assert.Equal(t, len(f.Servers), 1)
			assert.Equal(t, f.Servers[0].Command, "y")
		})
	}
}
