package appfile

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/client/host/config"
)

func application(t *testing.T, name string) Application {
	t.Helper()
	i := slices.IndexFunc(Applications(), func(a Application) bool { return a.Name == name })
	assert.Assert(t, i >= 0, name)
	return Applications()[i]
}

// applicationFiles are files as the applications and their users write them.
var applicationFiles = map[string]string{
	"claude-code": `{
  "numStartups": 42,
  "oauthAccount": {"emailAddress": "ada@example.com"},
  "projects": {
    "/project": {"mcpServers": {}, "hasTrustDialogAccepted": true}
  },
  "mcpServers": {
    "old": {
      "type": "stdio",
      "command": "old",
      "args": [],
      "env": {"TOKEN": "hidden1"}
    }
  },
  "tipsHistory": {}
}
`,
	"claude-desktop": "{\r\n    \"globalShortcut\": \"Ctrl+Space\",\r\n    \"mcpServers\": {\r\n        \"old\": {\r\n            \"command\": \"old\"\r\n        }\r\n    }\r\n}\r\n",
	"cursor":         `{"mcpServers": {"old": {"command": "old", "env": {"A": "hidden1"}}}}`,
	"vscode": `{
	// Servers of everybody
	"inputs": [
		{"type": "promptString", "id": "key", "password": true},
	],
	"servers": {
		"old": {
			"type": "http",
			"url": "https://example.com/mcp", // with a comma
			"headers": {"X-Key": "${input:key}"},
		}, // the first
		/* no more */
	},
}
`,
	"gemini": "{\n  \"theme\": \"GitHub\",\n  \"selectedAuthType\": \"oauth-personal\"\n}",
	"zed": "\xEF\xBB\xBF" + `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "old": {"command": {"path": "old", "args": [], "env": {"A": "hidden1"}}, "settings": {}}
    // the last
  },
  "vim_mode": true
}
`,
	"windsurf": "{}\n",
	"opencode": `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "old": {"type": "local", "command": ["old"]}
  },
  "model": "x"
}
`,
	"codex": codexFile() + "\n[tools]\nweb_search = true # at the end",
}

func testServer() *config.Server {
	return &config.Server{ID: "new", Workspace: native("/project"), Command: "npx",
		Args: []string{"-y", "server", "--token", "hidden2"}, Env: map[string]string{"KEY": "hidden3"}}
}

func fileName(a Application) string {
	if a.form.codex {
		return "config.toml"
	}
	return "f.json"
}

// Installing changes nothing but what it adds, and uninstalling restores the file.
func TestInstall(t *testing.T) {
	env := world(nil)
	for _, a := range Applications() {
		t.Run(a.Name, func(t *testing.T) {
			before, ok := applicationFiles[a.Name]
			assert.Assert(t, ok)
			path := fileName(a)
			c, err := a.Install(env, path, []byte(before), Installation{Server: testServer()})
			assert.NilError(t, err)
			golden.Assert(t, string(c.After), "install-"+a.Name+".golden")
			golden.Assert(t, c.Diff(), "install-"+a.Name+".diff")
			assert.Assert(t, !strings.Contains(c.Diff(), "hidden"))
			assert.Equal(t, strings.Count(string(c.After), "\r\n") > 0, strings.Contains(before, "\r\n"))
			if strings.Contains(before, "\r\n") {
				assert.Equal(t, strings.Count(string(c.After), "\n"), strings.Count(string(c.After), "\r\n"))
			}

			f := Parse(env, config.Source{Path: path, Workspace: env.Dir, Rename: true}, c.After)
			i := slices.IndexFunc(f.Servers, func(s *config.Server) bool { return s.ID == "new" })
			assert.Assert(t, i >= 0, "%v", f.Diagnostics)
			assert.Equal(t, string(f.Servers[i].JSON()), string(testServer().JSON()))

			again, err := a.Install(env, path, c.After, Installation{Server: testServer()})
			assert.NilError(t, err)
			assert.Assert(t, !again.Changed())
			assert.Equal(t, again.Diff(), "")

			other := testServer()
			other.Args = nil
			_, err = a.Install(env, path, c.After, Installation{Server: other})
			var exists *ExistsError
			assert.Assert(t, errors.As(err, &exists), "%v", err)
			forced, err := a.Install(env, path, c.After, Installation{Server: other, Replace: true})
			assert.NilError(t, err)
			assert.Assert(t, !strings.Contains(string(forced.After), "hidden2"))
			back, err := a.Install(env, path, forced.After,
				Installation{Server: testServer(), Replace: true})
			assert.NilError(t, err)
			assert.Equal(t, string(back.After), string(c.After), "--force keeps the place")

			u, err := a.Uninstall(path, c.After, []byte(before), "new")
			assert.NilError(t, err)
			assert.Equal(t, string(u.After), before)
			assert.Assert(t, !strings.Contains(u.Diff(), "hidden"), u.Diff())
			// Without a backup, white space and an empty object may stay.
			u, err = a.Uninstall(path, c.After, nil, "new")
			assert.NilError(t, err)
			if !slices.Contains([]string{"cursor", "gemini", "windsurf", "codex"}, a.Name) {
				assert.Equal(t, string(u.After), before)
			}
			assert.Assert(t, !strings.Contains(u.Diff(), "hidden"), u.Diff())
			_, err = a.Uninstall(path, u.After, nil, "new")
			assert.ErrorIs(t, err, ErrNotInstalled)
		})
	}
}

// A file that does not exist yet is created.
func TestInstallIntoNothing(t *testing.T) {
	env := world(nil)
	s := &config.Server{ID: "new", Command: "x", Workspace: env.Dir}
	for _, tt := range []struct{ name, before, want string }{
		{"cursor", "", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\",\n      \"args\": []\n    }\n  }\n}\n"},
		{"cursor", "// mine", "// mine\n{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\",\n      \"args\": []\n    }\n  }\n}\n"},
		{"codex", "", "[mcp_servers.new]\ncommand = \"x\"\nargs = []\n"},
		{"codex", "a = 1", "a = 1\n\n[mcp_servers.new]\ncommand = \"x\"\nargs = []\n"},
		{"codex", "a = 1\r\n\r\n", "a = 1\r\n\r\n[mcp_servers.new]\r\ncommand = \"x\"\r\nargs = []\r\n"},
		{"codex", "[mcp_servers]\n", "[mcp_servers]\n\n[mcp_servers.new]\ncommand = \"x\"\nargs = []\n"},
	} {
		a := application(t, tt.name)
		c, err := a.Install(env, fileName(a), []byte(tt.before), Installation{Server: s})
		assert.NilError(t, err)
		assert.Equal(t, string(c.After), tt.want)
		u, err := a.Uninstall(fileName(a), c.After, []byte(tt.before), "new")
		assert.NilError(t, err)
		assert.Equal(t, string(u.After), tt.before)
	}
}

func TestInstallErrors(t *testing.T) {
	env := world(nil)
	for _, tt := range []struct{ name, before, err string }{
		{"cursor", "{", "f.json:1:2: expected a member name in quotation marks"},
		{"cursor", "[]", "f.json:1:1: the file must be an object, not an array"},
		{"cursor", `{"mcpServers": null}`,
			"f.json:1:16: mcpServers must be an object of servers by their ids, not null"},
		{"cursor", `{"mcpServers": {}, "mcpServers": {}}`,
			`f.json:1:20: "mcpServers" is there twice; remove one of them`},
		{"opencode", `{"mcp": []}`, "f.json:1:9: mcp must be an object of servers by their ids, not an array"},
		{"cursor", `{"mcpServers": {"new": 1, "new": 2}}`,
			`f.json:1:27: "new" is there twice; remove one of them`},
		{"cursor", "{\"a\": \"\xff\"}", "f.json:1:8: a string is not UTF-8"},
		{"cursor", "\xFF\xFE{\x00", "f.json:1:1: the file is UTF-16; save it as UTF-8"},
		{"cursor", `{"mcpServers": {"new": {"command": "other"}}}`, "f.json already has a different new"},
		{"codex", "a = ", "config.toml:1:5: a value is missing before the end of the file"},
		{"codex", "mcp_servers = 1", "config.toml:1:15: mcp_servers must be an object of servers by their ids, not a number"},
		{"codex", "mcp_servers = { old = { command = 'x' } }",
			`config.toml cannot be changed without breaking it: config.toml:3:2: "mcp_servers" is an inline table, which cannot be extended; change it by hand`},
	} {
		a := application(t, tt.name)
		_, err := a.Install(env, fileName(a), []byte(tt.before), Installation{Server: testServer()})
		assert.Error(t, err, tt.err)
	}
	_, err := application(t, "codex").Uninstall("config.toml",
		[]byte("mcp_servers = { old = { command = 'x' } }"), nil, "old")
	assert.Error(t, err, `config.toml:1:1: "old" is defined within an inline table, which stdwire does not change; remove it by hand`)
}

// What an application cannot do is refused, and not left out in silence.
func TestForms(t *testing.T) {
	env := world(map[string]string{"/project/server.js": "", "/project/run": "", "/project/sub/x": ""})
	for _, tt := range []struct{ apps, server, want, notes string }{
		{"claude-code", `{"command": "npx", "args": ["server"], "env": {"A": "${A}", "B": "${env:B:-x}"}}`,
			`{"type":"stdio","command":"npx","args":["server"],"env":{"A":"${A}","B":"${B:-x}"}}`, ""},
		{"claude-code", `{"url": "https://${HOST}/mcp", "headers": {"A": "Bearer ${env:T}"}}`,
			`{"type":"http","url":"https://${HOST}/mcp","headers":{"A":"Bearer ${T}"}}`, ""},
		{"cursor vscode windsurf", `{"url": "https://x/mcp", "headers": {"A": "${T}"}}`, "${env:T}", ""},
		{"gemini", `{"url": "https://x/mcp", "headers": {"A": "${env:T}"}}`,
			`{"httpUrl":"https://x/mcp","headers":{"A":"${T}"}}`, ""},
		{"windsurf", `{"url": "https://x/mcp"}`, `{"serverUrl":"https://x/mcp"}`, ""},
		{"opencode", `{"command": "a", "args": ["b"], "env": {"A": "${A}"}, "cwd": "sub"}`,
			`{"type":"local","command":["a","b"],"cwd":"/project/sub","environment":{"A":"{env:A}"}}`,
			"cwd: sub becomes /project/sub, as opencode starts servers in another directory"},
		{"codex", `{"command": "a", "env": {"A": "${A}", "B": "b"}, "inheritEnv": ["C"]}`,
			`{"command":"a","args":[],"env":{"B":"b"},"env_vars":["A","C"]}`, ""},
		{"codex", `{"url": "https://x/mcp", "headers": {"Authorization": "Bearer ${env:T}", "X": "${Y}", "Z": "z"}}`,
			`{"url":"https://x/mcp","bearer_token_env_var":"T","http_headers":{"Z":"z"},"env_http_headers":{"X":"Y"}}`, ""},
		{"zed", `{"command": "node", "args": ["server.js", "--root=./sub", "--x=sub/x", "@a/server.js", "a.b", ".", "~/y"]}`,
			`{"command":"node","args":["/project/server.js","--root=/project/sub","--x=/project/sub/x","@a/server.js","a.b","/project","/home/ada/y"]}`,
			`args[0]: server.js becomes /project/server.js, as Zed starts servers in another directory
args[1]: ./sub becomes /project/sub, as Zed starts servers in another directory
args[2]: sub/x becomes /project/sub/x, as Zed starts servers in another directory
args[5]: . becomes /project, as Zed starts servers in another directory`},
		{"zed", `{"command": "./run"}`, `{"command":"/project/run","args":[]}`,
			"command: ./run becomes /project/run, as Zed starts servers in another directory"},
		{"cursor", `{"command": "a", "envFile": ".env", "idleStop": "10m", "other": 1, "inheritEnv": true}`,
			`{"command":"a","args":[],"envFile":"/project/.env"}`,
			"envFile: .env becomes /project/.env, as Cursor starts servers in another directory\ninheritEnv is not written: Cursor decides which variables servers inherit\nidleStop is not written: it is a setting of stdwire\nother is not written: it is unknown"},
		{"vscode", `{"command": "${workspaceFolder}/x"}`, `"command":"/project/x"`, ""},
	} {
		f := parse(`{"mcpServers": {"s": ` + tt.server + `}}`)
		for name := range strings.FieldsSeq(tt.apps) {
			definition, notes, err := application(t, name).define(env, f.Servers[0], false)
			assert.NilError(t, err)
			got := slashed(strings.ReplaceAll(string(definition), `\\`, `\`))
			assert.Assert(t, strings.Contains(got, tt.want), "%s %s", got, tt.want)
			assert.Equal(t, slashed(strings.Join(notes, "\n")), tt.notes)
		}
	}
	for _, tt := range []struct{ apps, server, want string }{
		{"claude-desktop", `{"url": "https://x"}`, `server "s": Claude Desktop starts commands only; install one that passes messages to the URL: --name s -- stdwire bridge URL`},
		{"claude-desktop", `{"url": "https://x", "headers": {"Authorization": "secret"}}`, `-- stdwire bridge URL --header NAME:@/ABSOLUTE/FILE`},
		{"claude-desktop zed", `{"command": "x", "env": {"A": "${A}"}}`, "server \"s\": env.A has the variable A, and "},
		{"codex", `{"command": "x", "args": ["${A}"]}`, "server \"s\": args[0] has the variable A, and Codex does not expand variables there; give the value"},
		{"cursor", `{"command": "x", "env": {"A": "${A:-secret}"}}`, "server \"s\": env.A has the variable A with a default, which Cursor does not have"},
		{"cursor", `{"command": "x", "env": {"A": "${input:a}"}}`, "server \"s\": env.A has ${input:a}, which cannot be written for Cursor"},
		{"claude-code claude-desktop cursor zed windsurf", `{"command": "x", "cwd": "y"}`, "server \"s\": it has a cwd, which "},
		{"zed", `{"command": "x", "envFile": "y"}`, "server \"s\": it has an envFile, which Zed does not have; write the variables in its env"},
		{"zed", `{"command": "x", "tools": {"deny": ["y"]}}`, "server \"s\": it limits the tools, which Zed would not; install the gateway: -- stdwire serve --servers"},
		{"codex", `{"command": "x", "inheritEnv": ["A*"]}`, "server \"s\": inheritEnv has the pattern \"A*\", which Codex does not have; name the variables"},
		{"zed", `{}`, "f.json:1:17: server \"s\": it has neither a command nor a URL"},
	} {
		f := parse(`{"mcpServers": {"s": ` + tt.server + `}}`)
		for name := range strings.FieldsSeq(tt.apps) {
			_, _, err := application(t, name).define(env, f.Servers[0], false)
			assert.ErrorContains(t, err, tt.want)
			assert.Assert(t, !strings.Contains(err.Error(), "secret"))
		}
	}
	// In the file of a workspace, relative paths stay, and its directory is not named, unless the
	// server starts elsewhere. Those of a file elsewhere become absolute.
	for _, tt := range []struct{ server, own, user string }{
		{`{"command": "./run", "args": ["server.js"], "envFile": ".env"}`,
			`"command":"./run","args":["server.js"],"envFile":".env"`,
			`"command":"/etc/run","args":["server.js"],"envFile":"/etc/.env"`},
		{`{"command": "${workspaceFolder}/run", "args": ["--x=${workspaceFolder}", "~/y"]}`,
			`"command":"./run","args":["--x=.","/home/ada/y"]`, ""},
		{`{"command": "run", "args": ["${workspaceFolder}/x"], "cwd": "${workspaceFolder}/y"}`,
			`"command":"run","args":["/project/x"],"cwd":"./y"`, ""},
		{`{"command": "run", "cwd": "y"}`, `"command":"run","args":[],"cwd":"y"`,
			`"command":"run","args":[],"cwd":"/etc/y"`},
	} {
		f := parse(`{"mcpServers": {"s": ` + tt.server + `}}`)
		for base, want := range map[string]string{"": tt.own, "/project": tt.own,
			"/etc": cmp.Or(tt.user, tt.own)} {
			f.Servers[0].Base = native(base)
			definition, notes, err := application(t, "vscode").define(env, f.Servers[0], true)
			assert.NilError(t, err)
			got := slashed(strings.ReplaceAll(string(definition), `\\`, `\`))
			assert.Equal(t, got, `{"type":"stdio",`+want+`}`)
			assert.Equal(t, len(notes) > 0, base == "/etc" && tt.user != "", notes)
		}
	}
	f := parse(`{"mcpServers": {"s": {"command": "run"}}}`)
	f.Servers[0].ID = "a.b"
	_, _, err := application(t, "codex").define(env, f.Servers[0], true)
	assert.ErrorContains(t, err, "its name has a dot, which Codex does not permit; give it another --name")
}

func TestUninstall(t *testing.T) {
	for _, tt := range []struct{ name, before, want string }{
		{"cursor", `{"mcpServers": {"a": 1, "new": 2, "b": 3}}`, `{"mcpServers": {"a": 1, "b": 3}}`},
		{"cursor", `{"mcpServers": {"new": 2, "b": 3}}`, `{"mcpServers": {"b": 3}}`},
		{"cursor", `{"mcpServers": {"a": 1, "new": 2}}`, `{"mcpServers": {"a": 1}}`},
		{"cursor", `{"mcpServers": {"new": 2}}`, `{"mcpServers": {}}`},
		{"cursor", "{\"mcpServers\": {\n  \"new\": 2\n}}", `{"mcpServers": {}}`},
		{"cursor", "{\"mcpServers\": {\n  \"a\": 1, // one\n  \"new\": 2, // two\n  \"b\": 3 // three\n}}",
			"{\"mcpServers\": {\n  \"a\": 1, // one\n   // two\n  \"b\": 3 // three\n}}"},
		{"cursor", "{\"mcpServers\": {\n  \"a\": 1, // one\n  \"new\": 2 // two\n}}",
			"{\"mcpServers\": {\n  \"a\": 1 // one\n   // two\n}}"},
		{"cursor", "{\"mcpServers\": {\n  // one\n  \"new\": 2, \"b\": 3\n}}",
			"{\"mcpServers\": {\n  // one\n   \"b\": 3\n}}"},
		{"cursor", "{\"mcpServers\": {\n  \"a\": 1,\n  \"new\": 2,\n}}", "{\"mcpServers\": {\n  \"a\": 1,\n}}"},
		{"cursor", "{\"mcpServers\": {\"a\": 1 /* x */ , /* y */ \"new\" /* z */ : 2 /* v */, /* w */ }}",
			"{\"mcpServers\": {\"a\": 1 /* x */ , /* y */  /* v */ /* w */ }}"},
		{"codex", "a = 1\n\n[mcp_servers.new] # it\ncommand = 'x'\n# inside\nargs = []\n\n[mcp_servers.new.env]\nA = 'x'\n\n# next\n[b]\n",
			"a = 1\n\n# next\n[b]\n"},
		{"codex", "[mcp_servers.new]\ncommand = 'x'\n[b]\n[mcp_servers.new.env]\nA = 'x'", "[b]\n"},
		{"codex", "[mcp_servers]\nnew.command = 'x'\nold.command = 'y'\nnew.args = [\n]\n",
			"[mcp_servers]\nold.command = 'y'\n"},
		{"codex", "mcp_servers.new = { command = 'x' }\nb = 1", "b = 1"},
	} {
		a := application(t, tt.name)
		c, err := a.Uninstall(fileName(a), []byte(tt.before), nil, "new")
		assert.NilError(t, err, tt.before)
		assert.Equal(t, string(c.After), tt.want, tt.before)
	}
}

// Whatever the file is: installing adds bytes and removes none, and uninstalling removes these.
func FuzzInstall(f *testing.F) {
	for name, file := range applicationFiles {
		f.Add([]byte(file), name == "codex")
	}
	for _, seed := range []string{"", "//", "{}", "{\"mcpServers\":{//\n}}", `{"mcpServers":{"a":{},}, }`,
		"{ \"mcpServers\" : { \"a\" : 1 } }", "{\"mcpServers\":{\n/**/\"a\":1/**/,/**/}\r\n}"} {
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, isTOML bool) {
		env := world(nil)
		a := Applications()[2]
		if isTOML {
			a = Applications()[len(Applications())-1]
		}
		path := fileName(a)
		c, err := a.Install(env, path, data, Installation{Server: testServer()})
		if err != nil || !c.Changed() {
			return
		}
		rest, at := []byte(nil), 0
		for _, e := range c.edits {
			if e.Start != e.End {
				t.Fatalf("%q: %q is removed", data, data[e.Start:e.End])
			}
			rest, at = append(rest, data[at:e.Start]...), e.Start
		}
		if !bytes.Equal(append(rest, data[at:]...), data) {
			t.Fatalf("%q became %q", data, c.After)
		}
		if strings.Contains(c.Diff(), "hidden3") {
			t.Fatalf("%q", c.Diff())
		}
		u, err := a.Uninstall(path, c.After, data, "new")
		if err != nil || !bytes.Equal(u.After, data) {
			t.Fatalf("%q became %q and then %q: %v", data, c.After, u.After, err)
		}
		if u, err = a.Uninstall(path, c.After, nil, "new"); err != nil {
			t.Fatalf("%q became %q: %v", data, c.After, err)
		}
		if strings.Contains(u.Diff(), "hidden3") {
			t.Fatalf("%q", u.Diff())
		}
	})
}
