//go:build linux

package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/conformance"
)

// webSecret is in files, and must never be on the page.
const webSecret = "hidden-from-the-page"

// change runs a scenario of webservers.mjs.
func (w *webPage) change(scenario string, more map[string]any, into any) {
	w.t.Helper()
	script, err := os.ReadFile("node/webservers.mjs")
	assert.NilError(w.t, err)
	w.write("webservers.mjs", string(script))
	given := map[string]any{"url": w.url, "chromium": w.browser, "scenario": scenario,
		"secret": webSecret, "shots": os.Getenv("STDWIRE_SHOTS")}
	for name, value := range more {
		given[name] = value
	}
	what, err := json.Marshal(given)
	assert.NilError(w.t, err)
	o := w.must("node", "webservers.mjs", string(what))
	var always struct {
		Broken                   string
		Errors, Bodies, Findings []string
	}
	assert.NilError(w.t, json.Unmarshal([]byte(o.stdout), &always), "%v", o)
	assert.Equal(w.t, always.Broken, "")
	assert.Equal(w.t, len(always.Errors), 0, "%q", always.Errors)
	assert.Equal(w.t, len(always.Bodies), 0, "%q", always.Bodies)
	assert.Equal(w.t, len(always.Findings), 0, "%q", always.Findings)
	assert.NilError(w.t, json.Unmarshal([]byte(o.stdout), into))
}

func TestWebChangesServers(t *testing.T) {
	b := newNodeBench(t)
	home := b.path("home")
	cursor := filepath.Join(home, ".cursor", "mcp.json")
	assert.NilError(t, os.MkdirAll(filepath.Dir(cursor), 0o700))
	assert.NilError(t, os.WriteFile(cursor, []byte(`{"mcpServers": {"from-cursor":
		{"command": "x", "env": {"TOKEN": "`+webSecret+`"}}}}`), 0o600))
	b.env = append(b.env, "HOME="+home)
	b.write("config.json", `{
  // mine
  "mcpServers": {
    "one": {"command": "first", "env": {"KEY": "`+webSecret+`"}} // stays
  }
}
`)
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Added, Shown, Edited, AfterEdit, Cloned, Meanwhile, Listed, Imported string
		Exported, Content                                                    string
	}
	w.change("change", map[string]any{"file": b.path("config.json"),
		"command": pageServer(t, "Echoes."), "cursor": cursor, "described": `{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name": "example/weather", "description": "Weather.", "version": "1.0.0",
		"packages": [{"registryType": "npm", "identifier": "@example/weather", "version": "1.0.0",
			"transport": {"type": "stdio"},
			"environmentVariables": [{"name": "API_KEY", "isRequired": true, "isSecret": true}]}]}`}, &got)
	assert.Assert(t, cmp.Contains(got.Added, `"added"`))
	assert.Equal(t, got.Shown, "…1")
	assert.Assert(t, cmp.Contains(got.Edited, `elsewhere`))
	assert.Assert(t, cmp.Contains(got.AfterEdit,
		`"one": {"command": "elsewhere", "env": {"KEY": "`+webSecret+`"}}`))
	assert.Assert(t, cmp.Contains(got.AfterEdit, "// stays"))
	assert.Assert(t, cmp.Contains(got.AfterEdit, "// mine"))
	assert.Assert(t, cmp.Contains(got.Meanwhile, "has changed since it was read"))
	assert.Assert(t, cmp.Contains(got.Content, "// theirs"))
	assert.Assert(t, !strings.Contains(got.Content, "third"))
	assert.Equal(t, strings.Count(got.Content, webSecret), 2, "%s", got.Content) // copied, imported
	for _, text := range []string{got.Edited, got.Cloned, got.Listed, got.Imported, got.Exported} {
		assert.Assert(t, !strings.Contains(text, webSecret), "%s", text)
	}
	for _, id := range []string{"added", "one-copy", "weather", "from-cursor"} {
		assert.Assert(t, cmp.Contains(got.Exported, `"`+id+`"`))
	}
}

// Without servers the page offers those of other applications, an example, and a box for a new one.
func TestWebFirstRun(t *testing.T) {
	b := newNodeBench(t)
	home := b.path("home")
	cursor := filepath.Join(home, ".cursor", "mcp.json")
	assert.NilError(t, os.MkdirAll(filepath.Dir(cursor), 0o700))
	assert.NilError(t, os.WriteFile(cursor, []byte(`{"mcpServers": {"from-cursor":
		{"command": "x", "env": {"TOKEN": "`+webSecret+`"}}}}`), 0o600))
	b.env = append(b.env, "HOME="+home)
	b.write("config.json", `{"mcpServers": {}}`)
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Text, Refused, Content, LooksAt, Stays string
		Example, Clicks                        int
	}
	w.change("first", map[string]any{"file": b.path("config.json"),
		"command": pageServer(t, "Echoes."), "cursor": cursor}, &got)
	assert.Assert(t, cmp.Contains(got.Text, "1 server: from-cursor"))
	assert.Assert(t, cmp.Contains(got.Refused, "enter a command line"))
	assert.Assert(t, cmp.Contains(got.LooksAt, b.path("config.json")))
	assert.Assert(t, cmp.Contains(got.LooksAt, "Add server"))
	assert.Assert(t, !strings.Contains(got.Stays, "tools"), got.Stays)
	assert.Assert(t, got.Example > 3)
	assert.Equal(t, got.Clicks, 2) // the box, and the button that writes; then it runs
	assert.Assert(t, cmp.Contains(got.Content, `"mine"`))
}

// Servers are moved with the keyboard, and the rest of the file is unchanged.
func TestWebMovesServers(t *testing.T) {
	b := newNodeBench(t)
	server, err := json.Marshal(pageServer(t, "Echoes."))
	assert.NilError(t, err)
	var command []json.RawMessage
	assert.NilError(t, json.Unmarshal(server, &command))
	args, err := json.Marshal(command[1:])
	assert.NilError(t, err)
	three := `"three": {"command": ` + string(command[0]) + `, "args": ` + string(args) + `}`
	b.write("config.json", `{
  "mcpServers": {
    // the first
    "one": {"command": "first", "env": {"KEY": "`+webSecret+`"}}, // stays
    "two": {"command": "second"},
    `+three+`
  }
}
`)
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Diff, Focused, Content string
		Order, Dragged         []string
		Ups, Ready             int
	}
	w.change("move", map[string]any{"file": b.path("config.json")}, &got)
	assert.Assert(t, cmp.Contains(got.Diff, `-    "two": {"command": "second"},`))
	assert.Equal(t, got.Focused, "More for one")
	assert.DeepEqual(t, got.Order, []string{"two", "three", "one"})
	assert.DeepEqual(t, got.Dragged, []string{"three", "one", "two"})
	assert.Equal(t, got.Ups, 0)
	assert.Equal(t, got.Ready, 1) // it was not started again
	assert.Equal(t, got.Content, `{
  "mcpServers": {
    "two": {"command": "second"},
    `+three+`,
    // the first
    "one": {"command": "first", "env": {"KEY": "`+webSecret+`"}} // stays
  }
}
`)
}

// A page for a server that no file defines changes no file, and reports that.
func TestWebChangesNothing(t *testing.T) {
	server := pageServer(t, "Echoes.")
	w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
	var got struct {
		Why     string
		Buttons []string
	}
	w.change("closed", map[string]any{"server": filepath.Base(server[0])}, &got)
	assert.Assert(t, cmp.Contains(got.Why, "not opened with a configuration file"))
	assert.Assert(t, slices.Contains(got.Buttons, "Restart"), "%q", got.Buttons)
	assert.Assert(t, !slices.Contains(got.Buttons, "Edit"), "%q", got.Buttons)
}

// Roots are set before the server asks for them, a command answers for a model, and the headers
// that repeat parameters are shown as text.
func TestWebServerSettings(t *testing.T) {
	b := newNodeBench(t)
	path, err := everything()
	assert.NilError(t, err)
	answer := b.path("answer")
	assert.NilError(t, os.WriteFile(answer, []byte("#!/bin/sh\ncat > /dev/null\n"+
		`echo '{"role":"assistant","content":{"type":"text","text":"the command says"}}'`+"\n"), 0o700))
	s := b.serving(path, "-http")
	w := openWeb(t, b, "--sample", answer, "--url", s.direct)
	host := strings.TrimSuffix(strings.TrimPrefix(s.direct, "http://"), "/mcp")
	var got struct{ Roots, Sampled, Headers string }
	w.change("settings", map[string]any{"server": strings.ReplaceAll(host, ":", "-")}, &got)
	assert.Assert(t, cmp.Contains(got.Roots, "3"))
	assert.Assert(t, cmp.Contains(got.Sampled, "the command says"))
	assert.Assert(t, cmp.Contains(got.Headers, "(Zürich)"))
}

// The fields of oauth are in the form; the secret stays in the file, and a new one in the
// environment.
func TestWebOAuthFields(t *testing.T) {
	b := newNodeBench(t)
	const docs = `    "docs": {"url": "https://docs.example/mcp", "oauth": {"clientId": "me",
      "clientSecret": "` + webSecret + `", // secret
      "issuer": "https://issuer.example", "scope": ["a", "b"]}}`
	b.write("config.json", "{\n  \"mcpServers\": {\n"+docs+"\n  }\n}\n")
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Refused, Added, Scopes, Edited, Content string
		Shown                                   []string
	}
	w.change("oauth", map[string]any{"file": b.path("config.json")}, &got)
	assert.Assert(t, cmp.Contains(got.Refused, "clientSecret is not a variable"))
	for _, line := range []string{`"clientId": "me"`, `"clientSecret": "${CLIENT_SECRET}"`,
		`"issuer": "https://issuer.example"`, `"scope": "read write"`} {
		assert.Assert(t, cmp.Contains(got.Added, line))
	}
	assert.DeepEqual(t, got.Shown, []string{"me", "…1", "https://issuer.example"})
	assert.Equal(t, strings.Join(strings.Fields(got.Scopes), ""), `["a","b"]`)
	assert.Assert(t, cmp.Contains(got.Content, strings.Replace(docs, `"me"`, `"other"`, 1)))
	assert.Assert(t, !strings.Contains(got.Content, "typed-in"))
}

// The user of the page logs in to a server at the authorization server's page, and out again.
func TestWebAuthorization(t *testing.T) {
	b := newNodeBench(t)
	f := newFront(t)
	i := b.issuer(map[string]any{"resources": map[string]target{f.url: {"jwt", "mcp"}},
		"scopes": []string{"mcp"}})
	b.protect(f, i)
	b.write("config.json", `{"mcpServers": {"docs": {"url": "`+f.url+`"}}}`)
	count := i.since()
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Problem, Command, Facts          string
		Messages, Problems, Leaked, Left int
	}
	w.change("authorize", map[string]any{"state": b.path("state")}, &got)
	assert.Assert(t, cmp.Contains(got.Problem, "terminal: stdwire auth login docs"))
	assert.Equal(t, got.Problems, 0)
	assert.Equal(t, got.Command, "stdwire auth login docs")
	assert.Assert(t, cmp.Contains(got.Facts, i.url))
	assert.Assert(t, cmp.Contains(got.Facts, "is valid until"))
	assert.Assert(t, cmp.Contains(got.Facts, "mcp"))
	assert.Assert(t, got.Messages > 0)
	assert.Equal(t, got.Leaked, 0)
	assert.Equal(t, got.Left, 0)
	assert.Equal(t, count("granted authorization_code"), 1)
	assert.Equal(t, count("POST /token/revocation"), 1)
}

// A list that has changed since the last view is marked, and so are its new items.
func TestWebListsChanged(t *testing.T) {
	path, err := everything()
	assert.NilError(t, err)
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			w := openWeb(t, newNodeBench(t), "--era", era, "--", path)
			var got struct {
				Marked, Unmarked, Own string
				Fresh, Left           []string
			}
			w.change("lists", map[string]any{"server": filepath.Base(path)}, &got)
			assert.Equal(t, strings.Count(got.Marked, "changed"), 1, "%s", got.Marked)
			assert.DeepEqual(t, got.Fresh, []string{"just added"})
			assert.Assert(t, !strings.Contains(got.Unmarked, "changed"), "%s", got.Unmarked)
			assert.Assert(t, !strings.Contains(got.Own, "changed"), "%s", got.Own)
			assert.Equal(t, len(got.Left), 0, "%q", got.Left)
		})
	}
}

// A link names a server, or a tool and its arguments. Nothing is sent before the user has agreed.
func TestWebLinks(t *testing.T) {
	b := newNodeBench(t)
	path, err := everything()
	assert.NilError(t, err)
	s := b.serving(path, "-http")
	var asked atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
	}))
	defer trap.Close()
	b.write("config.json", `{"mcpServers": {}}`)
	w := openWeb(t, b, "--config", "config.json")
	var got struct {
		Asked, Focused, After, Filled, Again string
		Strangers, Before, Called, Run       int
		Buttons                              []string
	}
	w.change("links", map[string]any{"trap": trap.URL + "/<b>mcp", "at": s.direct,
		"tool": "test_simple_text"}, &got)
	assert.Equal(t, got.Strangers, 0)
	assert.Assert(t, cmp.Contains(got.Asked, trap.URL+"/<b>mcp"))
	assert.Equal(t, got.Focused, "Cancel")
	assert.Assert(t, strings.HasSuffix(got.After, "/#/servers"), "%s", got.After)
	assert.DeepEqual(t, got.Buttons, []string{"Cancel"})
	assert.Equal(t, got.Before, 0)
	assert.Equal(t, asked.Load(), int32(0))
	assert.Equal(t, got.Filled, `{"name": "Ada"}`)
	assert.Equal(t, got.Again, `{"name": "Ada"}`)
	assert.Equal(t, got.Called, 0)
	assert.Equal(t, got.Run, 1)
}

// A list is shown page by page, beside the whole list.
func TestWebPages(t *testing.T) {
	w := openWeb(t, newNodeBench(t), append([]string{"--"},
		pageServer(t, conformance.PagePaged)...)...)
	var got struct {
		First, Last string
		Next        int
	}
	w.change("pages", nil, &got)
	assert.Assert(t, cmp.Contains(got.First, "The next page has the cursor 4"))
	assert.Assert(t, cmp.Contains(got.First, "echo"))
	assert.Assert(t, !strings.Contains(got.First, "misfit"), "%s", got.First)
	assert.Assert(t, cmp.Contains(got.Last, "This is the last page."))
	assert.Assert(t, cmp.Contains(got.Last, "visit"))
	assert.Equal(t, got.Next, 0)
}

// inFront serves what a server over HTTP does, except for requests that intercept answers. It
// returns the origin.
func inFront(t *testing.T, s *site,
	intercept func(w http.ResponseWriter, r *http.Request, body []byte) bool) string {
	at, err := url.Parse(strings.TrimSuffix(s.direct, "/mcp"))
	assert.NilError(t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise net/http closes the body when it answers, which may be before the proxy has
		// seen its end, and the proxy then drops the connection.
		text, err := io.ReadAll(r.Body)
		assert.Check(t, err)
		r.Body = io.NopCloser(bytes.NewReader(text))
		if !intercept(w, r, text) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL
}

// serverAt is how the page names a server at a URL.
func serverAt(origin string) string {
	return strings.ReplaceAll(strings.TrimPrefix(origin, "http://"), ":", "-")
}

// The page can switch off the GET stream of a legacy session.
func TestWebWithoutGETStream(t *testing.T) {
	b := newNodeBench(t)
	path, err := everything()
	assert.NilError(t, err)
	var streams atomic.Int32
	count := func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if r.URL.Path == "/count" {
			_, _ = fmt.Fprint(w, streams.Load())
			return true
		}
		if r.Method == http.MethodGet {
			streams.Add(1)
		}
		return false
	}
	front := inFront(t, b.serving(path, "-http"), count)
	w := openWeb(t, b, "--era", "legacy", "--url", front+"/mcp")
	var got struct {
		Counts  []int
		Checked bool
	}
	w.change("stream", map[string]any{"counter": front + "/count", "server": serverAt(front)}, &got)
	assert.DeepEqual(t, got.Counts, []int{1, 1, 2})
	assert.Assert(t, got.Checked)
}

// A list whose connection breaks is shown as it was, what is open stays open, and the page asks
// again.
func TestWebListCutOff(t *testing.T) {
	b := newNodeBench(t)
	path, err := everything()
	assert.NilError(t, err)
	var cut atomic.Bool
	cutOff := func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		if r.URL.Path == "/cut" || r.URL.Path == "/mend" {
			cut.Store(r.URL.Path == "/cut")
			return true
		}
		if !bytes.Contains(body, []byte(`"tools/list"`)) || !cut.Load() {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"jsonrpc":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	front := inFront(t, b.serving(path, "-http"), cutOff)
	w := openWeb(t, b, "--url", front+"/mcp")
	var got struct{ Kept bool }
	w.change("cutlist", map[string]any{"cut": front + "/cut", "mend": front + "/mend",
		"server": serverAt(front)}, &got)
	assert.Assert(t, got.Kept)
}
