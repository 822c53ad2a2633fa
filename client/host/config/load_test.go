package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// told is what a configuration came to.
func told(c *Config) string {
	var b strings.Builder
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%s %s %v\n", s.ID, s.File, s.Project)
	}
	for _, f := range c.Files {
		if f.State != StateAbsent {
			fmt.Fprintf(&b, "%s %s %d\n", f.State, f.Path, f.Servers)
		}
	}
	for _, d := range c.Diagnostics {
		fmt.Fprintf(&b, "%v: %v\n", d.Severity, d)
	}
	return slashed(b.String())
}

// A name that is no id is repaired, and found in another case, unless that is ambiguous.
func TestNamesAreRepaired(t *testing.T) {
	c := Load(world(nil, map[string]string{"/project/.mcp.json": `{"mcpServers": {
  "Brave Search": {"command": "a"}, "A": {"command": "b"}, "a": {"command": "c"}}}`}))
	assert.Equal(t, told(c), `Brave-Search /project/.mcp.json true
A /project/.mcp.json true
a /project/.mcp.json true
used /project/.mcp.json 3
warning: /project/.mcp.json:2:3: server "Brave-Search": it was called "Brave Search", which is not a valid id
warning: /project/.mcp.json:2:60: server "a": its id differs from "A" only in case
`)
	for id, want := range map[string]string{"Brave-Search": "a", "brave-search": "a",
		"Brave Search": "a", "A": "b", "a": "c"} {
		s, err := c.Server(id)
		assert.NilError(t, err)
		assert.Equal(t, s.Command, want, id)
	}
	c.Servers = c.Servers[1:]
	c.Servers[0].ID, c.Servers[1].ID = "Ab", "aB"
	_, err := c.Server("ab")
	assert.Error(t, err, `there is no server "ab"`)
}

func TestLoad(t *testing.T) {
	file := func(ids ...string) string {
		for i, id := range ids {
			ids[i] = fmt.Sprintf("%q: {\"command\": \"x\"}", id)
		}
		return `{"servers": {` + strings.Join(ids, ", ") + `}}`
	}
	user := userDir + "/mcp.json"
	for _, tt := range []struct {
		name      string
		variables map[string]string
		files     map[string]string
		given     []string
		want      string
	}{
		{name: "nothing"},
		{name: "the seeds' order",
			files: map[string]string{"/project/.dispatch/mcp.json": file("a"),
				"/project/opencode.json": `{"mcp": {"b": {"command": ["b"]}}}`},
			want: `a /project/.dispatch/mcp.json true
used /project/.dispatch/mcp.json 1
shadowed /project/opencode.json 1
warning: /project/opencode.json: its servers are not used: /project/.dispatch/mcp.json has precedence
`},
		{name: "fallback",
			files: map[string]string{
				"/project/opencode.json": `{"mcp": {"b": {"command": "uvx", "args": ["x"]}}}`},
			want: "b /project/opencode.json true\nused /project/opencode.json 1\n"},
		{name: "no servers in it",
			files: map[string]string{"/project/.mcp.json": "",
				"/project/opencode.json":  `{"theme": "x"}`,
				"/project/opencode.jsonc": `{"mcp": {"b": {"command": "b"}}}`},
			want: "b /project/opencode.jsonc true\nempty /project/.mcp.json 0\nempty /project/opencode.json 0\nused /project/opencode.jsonc 1\n"},
		{name: "empty on purpose",
			files: map[string]string{"/project/mcp.json": `{"servers": {}}`,
				"/project/.mcp.json": file("a")},
			want: "used /project/mcp.json 0\nshadowed /project/.mcp.json 1\nwarning: /project/.mcp.json: its servers are not used: /project/mcp.json has precedence\n"},
		{name: "user and project",
			files: map[string]string{"/project/.vscode/mcp.json": file("a", "b"),
				user: file("b", "c")},
			want: `a /project/.vscode/mcp.json true
b /project/.vscode/mcp.json true
c ` + user + ` false
used /project/.vscode/mcp.json 2
used ` + user + ` 2
warning: ` + user + `:1:14: server "b": it is not used: there is another at /project/.vscode/mcp.json:1:37
`},
		{name: "XDG", variables: map[string]string{"XDG_CONFIG_HOME": "/xdg"},
			files: map[string]string{"/xdg/stdwire/mcp.json": file("a"), user: file("b")},
			want:  "a /xdg/stdwire/mcp.json false\nused /xdg/stdwire/mcp.json 1\n"},
		{name: "XDG that is relative", variables: map[string]string{"XDG_CONFIG_HOME": "xdg"},
			files: map[string]string{user: file("b")}, want: "b " + user + " false\nused " + user +
				" 1\n"},
		{name: "the variable", variables: map[string]string{pathVariable: "/etc/x.json"},
			files: map[string]string{"/etc/x.json": file("a"), "/project/mcp.json": file("b"),
				user: file("c")}, want: "a /etc/x.json false\nused /etc/x.json 1\n"},
		{name: "the variable, relative", variables: map[string]string{pathVariable: "x.json"},
			files: map[string]string{"x.json": file("a"), user: file("c")},
			want:  "broken x.json 0\nerror: x.json: STDWIRE_CONFIG must be an absolute path\n"},
		{name: "the variable, of nothing", variables: map[string]string{pathVariable: "/x.json"},
			want: "broken /x.json 0\nerror: /x.json: file does not exist\n"},
		{name: "given", variables: map[string]string{pathVariable: "/etc/x.json"},
			given: []string{"one.json", native("/two.json")},
			files: map[string]string{"/project/one.json": file("a", "b"), "/two.json": file("b"),
				"/project/mcp.json": file("c"), user: file("c")},
			want: `b /two.json false
a /project/one.json false
used /two.json 1
used /project/one.json 2
warning: /project/one.json:1:37: server "b": it is not used: there is another at /two.json:1:14
`},
		{name: "given, but not there", given: []string{"one.json"},
			want: "broken /project/one.json 0\nerror: /project/one.json: file does not exist\n"},
		{name: "broken",
			files: map[string]string{"/project/mcp.json": "{", "/project/.mcp.json": file("a"),
				user: file("b")},
			want: `b ` + user + ` false
broken /project/mcp.json 0
shadowed /project/.mcp.json 1
used ` + user + ` 1
error: /project/mcp.json:1:2: expected a member name in quotation marks
warning: /project/.mcp.json: its servers are not used: /project/mcp.json has precedence
`},
		{name: "profiles",
			files: map[string]string{
				"/project/mcp.json": `{"servers": {"a": {"command": "a"}}, "profiles": {"web": ["a", "bb"], "all": ["a", "b", "a"]}}`,
				user:                `{"servers": {"b": {"command": "b"}}, "profiles": {"web": ["b"]}}`},
			want: `a /project/mcp.json true
b ` + user + ` false
used /project/mcp.json 1
used ` + user + ` 1
warning: /project/mcp.json:1:71: the profile "all" is not used: it has servers of other files, b, and is not trusted
warning: /project/mcp.json:1:51: the profile "web" is not used: it would replace the one at ` + user + `:1:51, and is not trusted
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, told(Load(world(tt.variables, tt.files), tt.given...)), tt.want)
		})
	}
}

func TestConfigServer(t *testing.T) {
	env := world(nil, map[string]string{
		"/project/mcp.json":   `{"servers": {"files": {"command": "a"}, "bad": {}}, "profiles": {"p": ["web", "files"], "q": ["no"]}}`,
		userDir + "/mcp.json": `{"servers": {"web": {"command": "b"}}}`,
	})
	env.Trusts = func(*Profile) bool { return true }
	c := Load(env)
	s, err := c.Server("web")
	assert.NilError(t, err)
	assert.Equal(t, s.Command, "b")
	_, err = c.Server("bad")
	assert.Equal(t, slashed(err.Error()),
		`/project/mcp.json:1:41: server "bad": it has neither a command nor a URL`)
	_, err = c.Server("fils")
	var unknown *UnknownError
	assert.Assert(t, errors.As(err, &unknown))
	assert.Equal(t, unknown.Hint, "did you mean files?")
	assert.Error(t, err, `there is no server "fils"`)

	all, err := c.Select("")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 3)
	some, err := c.Select("p")
	assert.NilError(t, err)
	assert.Equal(t, some[0].ID+some[1].ID, "webfiles")
	_, err = c.Select("q")
	assert.Error(t, err, `there is no server "no"`)
	_, err = c.Select("r")
	assert.Error(t, err, `there is no profile "r"`)

	// What a broken file may have had is not taken from elsewhere.
	files := map[string]string{"/project/mcp.json": "[", userDir +
		"/mcp.json": `{"servers": {"web": {"command": "b"}}}`}
	_, err = Load(world(nil, files)).Server("web")
	assert.Equal(t, slashed(err.Error()), "/project/mcp.json:1:2: a value is missing")
	files = map[string]string{"/project/mcp.json": `{"servers": {"web": {"command": "b"}}}`,
		userDir + "/mcp.json": "["}
	_, err = Load(world(nil, files)).Server("web")
	assert.NilError(t, err)
	_, err = Load(world(nil, files)).Server("other")
	assert.ErrorContains(t, err, "a value is missing")
}

// Relative paths of the user's own file do not depend on the working directory, so that a project
// cannot replace their files.
func TestRelativePaths(t *testing.T) {
	const servers = `{"servers": {"s": {"command": "./run", "envFile": ".env"}, "t": {"command": "run"}, "u": {"command": "./run", "cwd": "sub"}}}`
	for _, tt := range []struct {
		name, file, base string
		variables        map[string]string
		given            []string
	}{
		{name: "the user's", file: userDir + "/mcp.json", base: userDir},
		{name: "the variable's", file: "/etc/x.json", base: "/etc",
			variables: map[string]string{pathVariable: "/etc/x.json"}},
		{name: "given", file: "/elsewhere/x.json", base: "/project",
			given: []string{native("/elsewhere/x.json")}},
		{name: "the project's", file: "/project/.vscode/mcp.json", base: "/project"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := world(tt.variables,
				map[string]string{tt.file: servers, "/project/.env": "FROM=/project",
					"/etc/.env": "FROM=/etc", userDir + "/.env": "FROM=" + userDir})
			c := Load(env, tt.given...)
			e, err := c.Servers[0].Resolve(env)
			assert.NilError(t, err)
			assert.Equal(t, slashed(e.Command.Path), tt.base+"/run")
			assert.Equal(t, slashed(e.Command.Dir), "/project")
			assert.Equal(t, e.Command.Env["FROM"], tt.base)
			e, err = c.Servers[1].Resolve(env)
			assert.NilError(t, err)
			assert.Equal(t, e.Command.Path, "run")
			assert.Equal(t, slashed(e.Command.Dir), "/project")
			e, err = c.Servers[2].Resolve(env)
			assert.NilError(t, err)
			assert.Equal(t, e.Command.Path, "./run") // relative to Dir
			assert.Equal(t, slashed(e.Command.Dir), tt.base+"/sub")
		})
	}
}
