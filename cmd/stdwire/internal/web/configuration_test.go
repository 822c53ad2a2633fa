package web

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// editor is a visitor of a page with a configuration file.
type editor struct {
	*visitor
	path string
}

// edit opens the page with a file of this content. A project's file is found in the directory.
func edit(t *testing.T, content string, project bool) *editor {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	t.Chdir(dir)
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
		"LOCALAPPDATA", "APPDATA"} {
		t.Setenv(name, filepath.Join(dir, "home"))
	}
	t.Setenv("STDWIRE_CONFIG", "")
	path := filepath.Join(dir, ".mcp.json")
	assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
	v := visit(t)
	flags := &target.ConfigFlags{}
	if !project {
		flags.Files = []string{path}
	}
	selection, err := flags.Select("")
	assert.NilError(t, err)
	log := slog.New(slog.DiscardHandler)
	v.site.configuration = newConfiguration(v.site.servers, flags, selection, log)
	assert.NilError(t, v.site.servers.setConfigured(selection, log))
	v.handler = v.site.handler(v.access)
	return &editor{v, path}
}

// post sends a request. It fails the test if the answer has a secret.
func (e *editor) post(path string, in, out any) (status int, body string) {
	e.Helper()
	text, err := json.Marshal(in)
	assert.NilError(e, err)
	status, body = e.send("POST", path, string(text), e.key())
	assert.Assert(e, !strings.Contains(body, "hidden"), "%s", body)
	if status == 200 && out != nil {
		assert.NilError(e, json.Unmarshal([]byte(body), out))
	}
	return status, body
}

// write shows a change and writes it.
func (e *editor) write(in fileChange) {
	e.Helper()
	in.File = e.path
	var shown, written changeAnswer
	status, body := e.post("/api/config/change", in, &shown)
	assert.Equal(e, status, 200, "%s", body)
	in.Write, in.Digest = true, shown.Digest
	status, body = e.post("/api/config/change", in, &written)
	assert.Equal(e, status, 200, "%s", body)
	assert.Equal(e, written.Diff, shown.Diff)
	assert.Assert(e, written.Written)
}

func (e *editor) content() string {
	text, err := os.ReadFile(e.path)
	assert.NilError(e, err)
	return string(text)
}

func (e *editor) ids() (ids []string) {
	for _, s := range e.site.servers.statuses() {
		ids = append(ids, s.ID)
	}
	return ids
}

const twoServers = `{
  // mine
  "mcpServers": {
    "one": {"command": "first", "env": {"KEY": "hidden1"}},
    "two": {"url": "https://example.com/mcp"}
  }
}
`

func TestChangeConfiguration(t *testing.T) {
	e := edit(t, twoServers, false)
	var one definedServer
	e.post("/api/config/definition", map[string]string{"server": "one"}, &one)
	assert.Equal(t, one.File, e.path)
	assert.Assert(t, cmp.Contains(one.Definition, `"KEY": "…1"`))

	e.write(fileChange{Server: "one", From: "one",
		Definition: strings.Replace(one.Definition, "first", "other", 1)})
	assert.Equal(t, e.content(), strings.Replace(twoServers, "first", "other", 1))
	e.write(fileChange{Server: "copy", From: "one", Definition: one.Definition})
	e.write(fileChange{Server: "two", Remove: true})
	assert.DeepEqual(t, e.ids(), []string{"one", "copy"})
	assert.Equal(t, strings.Count(e.content(), "hidden1"), 2)
	assert.Assert(t, cmp.Contains(e.content(), "// mine"))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(e.path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	}

	var exported map[string]string
	e.post("/api/config/export", map[string][]string{"servers": nil}, &exported)
	assert.Assert(t, cmp.Contains(exported["text"], `"KEY": "…"`))
}

// Servers that exchange places keep all else, their state too.
func TestSwapServers(t *testing.T) {
	e := edit(t, twoServers, false)
	assert.NilError(t, e.site.servers.manager.Disable("one"))
	e.write(fileChange{Server: "one", Place: "two"})
	assert.Equal(t, e.content(), `{
  // mine
  "mcpServers": {
    "two": {"url": "https://example.com/mcp"},
    "one": {"command": "first", "env": {"KEY": "hidden1"}}
  }
}
`)
	assert.DeepEqual(t, e.ids(), []string{"two", "one"})
	assert.Equal(t, string(e.site.servers.statuses()[1].State), "disabled")
	status, body := e.post("/api/config/change",
		fileChange{File: e.path, Server: "one", Place: "none"}, nil)
	assert.Equal(t, status, 400, "%s", body)
}

// A server that takes the place of one further away moves all between them.
func TestMoveServer(t *testing.T) {
	e := edit(t, `{"mcpServers": {"a": {"command": "1"}, "b": {"command": "2"}, "c": {"command": "3"}}}`, false)
	e.write(fileChange{Server: "a", Place: "c"})
	assert.Equal(t, e.content(),
		`{"mcpServers": {"b": {"command": "2"}, "c": {"command": "3"}, "a": {"command": "1"}}}`)
	e.write(fileChange{Server: "a", Place: "b"})
	assert.DeepEqual(t, e.ids(), []string{"a", "b", "c"})
}

// A server whose definition has not changed keeps its state, and a changed one has the new one.
func TestChangedServersAlone(t *testing.T) {
	e := edit(t, twoServers, false)
	servers := e.site.servers
	assert.NilError(t, servers.manager.Disable("one"))
	assert.NilError(t, servers.manager.Disable("two"))
	e.write(fileChange{Server: "two", From: "two",
		Definition: `{"url": "https://example.com/other"}`})
	states := servers.statuses()
	assert.Equal(t, string(states[0].State), "disabled")
	assert.Equal(t, string(states[1].State), "stopped")
	assert.Equal(t, states[1].URL, "https://example.com/other")
}

func TestChangeRefused(t *testing.T) {
	e := edit(t, twoServers, false)
	good := fileChange{File: e.path, Server: "new", Definition: `{"command": "x"}`}
	var shown changeAnswer
	e.post("/api/config/change", good, &shown)
	for _, tt := range []struct {
		name   string
		change func(*fileChange)
		status int
		why    string
	}{
		{"not shown before", func(c *fileChange) { c.Write = true }, 400, "shown before it is written"},
		{"another file", func(c *fileChange) { c.File = filepath.Join(filepath.Dir(e.path), "x.json") },
			404, "there is no file"},
		{"old content", func(c *fileChange) { c.Write, c.Digest = true, digestOf([]byte("{}")) }, 400,
			"has changed since it was read"},
		{"no JSON", func(c *fileChange) { c.Definition = "{" }, 400, "not JSON"},
		{"invalid", func(c *fileChange) { c.Definition = `{"command": 5}` }, 400, "command"},
		{"there already", func(c *fileChange) { c.Server = "one" }, 400, "already has a different one"},
		{"secret made visible", func(c *fileChange) {
			c.Server, c.From, c.Definition = "one", "one", `{"command": "x", "cwd": "…1"}`
		}, 400, "would be visible"},
		{"secret of nobody", func(c *fileChange) {
			c.Definition = `{"command": "x", "env": {"A": "…1"}}`
		}, 400, "stands for no value"},
	} {
		in := good
		tt.change(&in)
		status, body := e.post("/api/config/change", in, nil)
		assert.Equal(t, status, tt.status, "%s: %s", tt.name, body)
		assert.Assert(t, cmp.Contains(body, tt.why), tt.name)
	}
	assert.Equal(t, e.content(), twoServers)

	// what another program has written meanwhile stays
	assert.NilError(t, os.WriteFile(e.path, []byte(`{"mcpServers": {}}`), 0o600))
	good.Write, good.Digest = true, shown.Digest
	status, body := e.post("/api/config/change", good, nil)
	assert.Equal(t, status, 400, "%s", body)
	assert.Equal(t, e.content(), `{"mcpServers": {}}`)

	e.site.configuration.disable("other machines")
	status, body = e.post("/api/config/change", fileChange{File: e.path}, nil)
	assert.Equal(t, status, 403, "%s", body)
}

// The secret of an OAuth client is not written to the file, unless the file has it already.
func TestClientSecretMustBeVariable(t *testing.T) {
	definition := func(secret string) string {
		return `{"url": "https://example.com/mcp", "oauth": {"clientId": "me", "issuer": ` +
			`"https://issuer.example", ` + secret + `}}`
	}
	content := `{"mcpServers": {"old": ` + definition(`"clientSecret": "hidden3"`) + `}}`
	e := edit(t, content, false)
	for _, secret := range []string{`"clientSecret": "typed"`, `"client_secret": "typed"`,
		`"clientSecret": "${NAME}typed"`, `"clientSecret": "${NAME:-typed}"`} {
		for _, in := range []fileChange{{Server: "new"}, {Server: "old", From: "old"},
			{Server: "copy", From: "old"}} {
			in.File, in.Definition = e.path, definition(secret)
			for _, in.Write = range []bool{false, true} {
				in.Digest = digestOf([]byte(content))
				status, body := e.post("/api/config/change", in, nil)
				assert.Equal(t, status, 400, "%s: %s", secret, body)
				assert.Assert(t, cmp.Contains(body, "clientSecret is not a variable"))
				assert.Assert(t, !strings.Contains(body, "typed"), "%s", body)
			}
		}
	}
	assert.Equal(t, e.content(), content)
	for _, secret := range []string{"${NAME}", "${env:NAME}", "${input:name}", "${file:secret}"} {
		e.write(fileChange{Server: "new", Definition: definition(`"clientSecret": "` + secret + `"`)})
		e.write(fileChange{Server: "new", Remove: true})
	}
	var old definedServer
	e.post("/api/config/definition", map[string]string{"server": "old"}, &old)
	e.write(fileChange{Server: "old", From: "old",
		Definition: strings.Replace(old.Definition, "/mcp", "/other", 1)})
	e.write(fileChange{Server: "copy", From: "old", Definition: old.Definition})
	assert.Equal(t, strings.Count(e.content(), "hidden3"), 2)
}

// To change a project's file does not make its servers trusted.
func TestChangeProject(t *testing.T) {
	e := edit(t, twoServers, true)
	e.write(fileChange{Server: "new", Definition: `{"command": "x"}`})
	for _, s := range e.site.servers.statuses() {
		assert.Assert(t, s.Problem != nil && s.Problem.Code == "untrusted", "%v", s)
	}
	status, _ := e.post("/api/servers/new/do/start", struct{}{}, nil)
	assert.Equal(t, status, 403)
}

func TestImportServers(t *testing.T) {
	e := edit(t, twoServers, false)
	find := func(name, text string) (found []importableServer) {
		t.Helper()
		status, body := e.post("/api/config/import", importRequest{Into: e.path, Name: name, Text: text},
			&found)
		assert.Equal(t, status, 200, "%s", body)
		return found
	}
	const zed = `{"context_servers": {"My Server": {"command": "x", "args": ["a"], "env": {"K": "hidden2"}},
		"one": {"command": "other"}, "bad": {"command": 5}}}`
	found := find("settings.json", zed)
	assert.Equal(t, found[0].ID, "My-Server")
	assert.Assert(t, cmp.Contains(found[0].Definition, `"K":"…"`))
	assert.Assert(t, cmp.Contains(found[0].Notes[0], "it was called"))
	assert.Assert(t, found[2].Problem != "")
	e.write(fileChange{Import: &importRequest{Name: "settings.json", Text: zed,
		Servers: []string{"My-Server"}}})
	assert.DeepEqual(t, e.ids(), []string{"one", "two", "My-Server"})
	assert.Assert(t, cmp.Contains(e.content(), "hidden2"))
	for _, tt := range []struct{ server, why string }{{"one", "already has a different one"},
		{"bad", "command"}, {"none", "there is no server none"}} {
		status, body := e.post("/api/config/change", fileChange{File: e.path,
			Import: &importRequest{Text: zed, Servers: []string{tt.server}}}, nil)
		assert.Assert(t, status != 200)
		assert.Assert(t, cmp.Contains(body, tt.why))
	}
	e.write(fileChange{Import: &importRequest{Text: zed, Servers: []string{"one"}, Replace: true}})

	const described = `{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name": "example/weather", "description": "Weather.", "version": "1.0.0",
		"packages": [{"registryType": "npm", "identifier": "@example/weather", "version": "1.0.0",
			"transport": {"type": "stdio"},
			"environmentVariables": [{"name": "API_KEY", "description": "The key.", "isRequired": true, "isSecret": true}]},
			{"registryType": "odd", "identifier": "x", "version": "1", "transport": {"type": "stdio"}}]}`
	found = find("server.json", described)
	assert.Equal(t, found[0].Kind, "npm")
	assert.Assert(t, cmp.Contains(found[0].Notes[0], "${input:API_KEY}: The key."))
	assert.Assert(t, cmp.Contains(found[1].Problem, "are not known"))
	e.write(fileChange{Import: &importRequest{Text: described, Servers: []string{found[0].ID}}})
	assert.Assert(t, cmp.Contains(e.content(), `"API_KEY": "${input:API_KEY}"`))

	status, _ := e.post("/api/config/import", importRequest{Into: e.path, Application: "/etc/passwd"}, nil)
	assert.Equal(t, status, 404)
}

// A page that was not opened with the configuration says why nothing can be changed.
func TestNoConfiguration(t *testing.T) {
	v := visit(t)
	status, body := v.send("GET", "/api/config", "", v.key())
	assert.Equal(t, status, 200)
	assert.Assert(t, cmp.Contains(body, "not opened with a configuration file"))
	for path, in := range map[string]string{"definition": `{"server": "x"}`, "change": `{"file": "x"}`,
		"import": `{}`} {
		status, _ = v.send("POST", "/api/config/"+path, in, v.key())
		assert.Equal(t, status, 403, path)
	}
	status, _ = v.send("POST", "/api/config/export", `{}`, v.key())
	assert.Equal(t, status, 404)
}

// A page whose only file is broken says so, and changes nothing.
func TestNoUsableFile(t *testing.T) {
	env, err := config.System("")
	assert.NilError(t, err)
	file := func(state config.State) configurationStatus {
		return newConfiguration(nil, nil, &target.Selection{Env: env,
			All: &config.Config{Files: []config.FileStatus{{State: state}}}}, nil).status()
	}
	assert.Equal(t, file(config.StateUsed).Off, "")
	broken := file(config.StateBroken)
	assert.Assert(t, cmp.Contains(broken.Off, "no configuration file can be used"))
	assert.Equal(t, len(broken.Files), 0)
}

// A page that other machines can reach runs no command of theirs.
func TestChangeFromElsewhere(t *testing.T) {
	e := edit(t, twoServers, false)
	std := &term.Streams{Err: &term.Console{W: io.Discard}}
	for _, tt := range []struct {
		listen string
		off    bool
	}{{"127.0.0.1:0", false}, {"0.0.0.0:0", true}} {
		o := &options{listen: tt.listen}
		listener, _, _, err := o.listenAt(std, e.site)
		assert.NilError(t, err)
		assert.NilError(t, listener.Close())
		assert.Equal(t, e.site.configuration.status().Off != "", tt.off)
	}
}

func TestTitleOf(t *testing.T) {
	file := func(name string, state config.State) config.FileStatus {
		return config.FileStatus{Source: config.Source{Path: filepath.Join("dir", name)}, State: state}
	}
	title := func(files ...config.FileStatus) string {
		return titleOf(&target.Selection{All: &config.Config{Files: files}})
	}
	assert.Equal(t, title(file("a.json", config.StateUsed), file("b.json", config.StateAbsent),
		file("c.json", config.StateBroken)), "a.json, c.json")
	assert.Equal(t, title(file("b.json", config.StateAbsent)), "no configuration")
}
