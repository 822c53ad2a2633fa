package appfile

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/config"
)

func TestSwap(t *testing.T) {
	for _, tt := range []struct{ name, before, after string }{
		{"lines", `{ // servers
  "mcpServers": { // by name
    // the first
    "one": {"command": "a", "env": {"K": "hidden1"}}, // stays with one

    /* the
       second */
    "two": {"command": "b"} // stays with two
  },
  "other": {"two": 1, "one": 2}
}`, `{ // servers
  "mcpServers": { // by name
    /* the
       second */
    "two": {"command": "b"}, // stays with two

    // the first
    "one": {"command": "a", "env": {"K": "hidden1"}} // stays with one
  },
  "other": {"two": 1, "one": 2}
}`},
		{"one line", `{"mcpServers": {"one": {"command": "a"}, /* b */ "two": {"command": "b"}, }}`,
			`{"mcpServers": {/* b */ "two": {"command": "b"}, "one": {"command": "a"}, }}`},
		{"a comment that would hide the end", `{"mcpServers": {"one": {"command": "a"}, // c
  "two": {"command": "b"}}}`, `{"mcpServers": {"two": {"command": "b"}, // c
  "one": {"command": "a"}}}`},
		{"commas first", `{"mcpServers": {
  "one": {"command": "a"} // a
  , "two": {"command": "b"} // b
}}`, `{"mcpServers": {
  "two": {"command": "b"} // b
  , "one": {"command": "a"} // a
}}`},
		{"with another between", `{"mcpServers": {
  "one": {"command": "a"}, "x": {"command": "x"},
  "two": {"command": "b"} /* , */ , // b
}}`, `{"mcpServers": {
  "two": {"command": "b"}, "x": {"command": "x"},
  "one": {"command": "a"} /* , */ , // b
}}`},
		{"lines of Windows", "{\"mcpServers\": {\r\n \"one\": {\"command\": \"a\"}, // a\r\n \"two\": {\"command\": \"b\"}\r\n}}",
			"{\"mcpServers\": {\r\n \"two\": {\"command\": \"b\"},\r\n \"one\": {\"command\": \"a\"} // a\r\n}}"},
		{"x.toml", `title = "x"

# the first
[mcp_servers.one]
command = "a" # a
[mcp_servers.one.env]
K = "hidden1"

[other]
one = 1

# the second
[mcp_servers.two]
command = "b"`, `title = "x"

# the second
[mcp_servers.two]
command = "b"

[other]
one = 1

# the first
[mcp_servers.one]
command = "a" # a
[mcp_servers.one.env]
K = "hidden1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := "t.json"
			if strings.HasSuffix(tt.name, ".toml") {
				name = tt.name
			}
			env := world(nil)
			f := Parse(env, config.Source{Path: name}, []byte(tt.before))
			for _, ids := range [][2]string{{"one", "two"}, {"two", "one"}} {
				c, err := f.Swap(ids[0], ids[1])
				assert.NilError(t, err)
				assert.Equal(t, string(c.After), tt.after)
				assert.Assert(t, !strings.Contains(c.Diff(), "hidden"), "%s", c.Diff())
				// and back
				back, err := Parse(env, config.Source{Path: name}, c.After).Swap(ids[0], ids[1])
				assert.NilError(t, err)
				assert.Equal(t, string(back.After), tt.before)
			}
			c, err := f.Swap("one", "one")
			assert.NilError(t, err)
			assert.Assert(t, !c.Changed())
		})
	}
}

// The diff of servers on lines of their own shows one of them removed and added.
func TestSwapDiff(t *testing.T) {
	c, err := editedFile(t, `{"mcpServers": {
  "one": {"command": "a"},
  "two": {"url": "https://example.com/mcp", "headers": {"Authorization": "hidden3"}},
  "three": {"command": "c"}
}}
`).Swap("one", "two")
	assert.NilError(t, err)
	assert.Equal(t, c.Diff(), `t.json
@@ line 2 @@
-  "one": {"command": "a"},
@@ line 4 @@
+  "one": {"command": "a"},
`)
}

// A diff whose lines look equal, because what differs is hidden, says so.
func TestDiffOfHiddenValues(t *testing.T) {
	c, err := editedFile(t, `{"mcpServers": {
  "one": {"command": "a", "env": {"TOKEN": "hidden1"}}
}}
`).Put("one", "one", []byte(`{"command": "a", "env": {"TOKEN": "hidden2"}}`))
	assert.NilError(t, err)
	assert.Equal(t, c.Diff(), `t.json
@@ line 2 @@
-{"command": "a", "env": {"TOKEN": "…"}}
+{"command": "a", "env": {"TOKEN": "…"}}
~ these lines differ in values that are not shown, or in white space
`)
}

func TestSwapRefused(t *testing.T) {
	_, err := editedFile(t, edited).Swap("one", "three")
	assert.ErrorIs(t, err, ErrNotInstalled)
	for _, data := range []string{
		"mcp_servers = { one = { command = 'x' }, two = { command = 'y' } }",
		"[mcp_servers.one]\ncommand = 'x'\n[mcp_servers.two]\ncommand = 'y'\n[mcp_servers.one.env]\nA = 'b'",
		"[mcp_servers]\none.command = 'x'\ntwo.command = 'y'",
	} {
		f := Parse(world(nil), config.Source{Path: "c.toml"}, []byte(data))
		_, err := f.Swap("one", "two")
		assert.Assert(t, cmp.ErrorContains(err, `"one" is not defined by tables of its own`))
	}
}

// A member that is there twice, elsewhere in the file, does not hinder a change.
func TestChangeBesideDuplicates(t *testing.T) {
	const file = `{"mcpServers": {
  "one": {"command": "a"},
  "two": {"command": "b"}
}, "x": {"a": 1, /* again */ "a": 2}}`
	c, err := editedFile(t, file).Swap("one", "two")
	assert.NilError(t, err)
	assert.Equal(t, string(c.After), `{"mcpServers": {
  "two": {"command": "b"},
  "one": {"command": "a"}
}, "x": {"a": 1, /* again */ "a": 2}}`)
	c, err = editedFile(t, file).Remove("one")
	assert.NilError(t, err)
	assert.Equal(t, string(c.After), `{"mcpServers": {
  "two": {"command": "b"}
}, "x": {"a": 1, /* again */ "a": 2}}`)
}

// Whatever the file is: two servers can be swapped, and the others stay.
func FuzzSwap(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers": {"a": {"command": "x"}, "b": {"url": "http://x"}}}`,
		"{\"mcpServers\": { // a\n/* b */ \"a\": {\"command\": \"x\"} /* c */, // d\n // e\n " +
			"\"b\": {\"url\": \"http://x\"} // f\n}}",
		`{"servers": {"a": {"command": "x"}, "c": 1, "b": {"command": "y"},}, "x": {"y": 1, "y": 2}}`,
		codexFile(),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := Parse(world(nil), config.Source{Path: "f", Workspace: "/project"}, data)
		n := len(file.Servers)
		if file.Err() != nil || n < 2 {
			return
		}
		c, err := file.Swap(file.Servers[0].ID, file.Servers[n-1].ID)
		if err != nil && file.text.TOML == nil {
			t.Fatalf("%v", err)
		}
		if err == nil && len(Parse(world(nil), file.Source, c.After).Servers) != n {
			t.Fatalf("%q became %q", data, c.After)
		}
	})
}
