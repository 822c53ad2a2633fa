package web

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A visitor sends requests to a site.
type visitor struct {
	*testing.T
	handler http.Handler
	access  *access
	site    *site
}

func visit(t *testing.T) *visitor {
	s := newSite(t.Context())
	t.Cleanup(func() {
		s.calls.wg.Wait()
		s.servers.manager.Close()
	})
	a := newAccess("inspector.example")
	return &visitor{t, s.handler(a), a, s}
}

// request sends a request to a handler. Headers are "Name: value"; Host is one of them.
func request(handler http.Handler, method, path, body string,
	headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:4000"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// send returns the status and body of an answer.
func (v *visitor) send(method, path, body string, headers ...string) (int, string) {
	v.Helper()
	w := request(v.handler, method, path, body, headers...)
	assert.Equal(v, w.Header().Get("Content-Security-Policy"), policy)
	return w.Code, w.Body.String()
}

func (v *visitor) key() string { return "Authorization: Bearer " + v.access.key }

// Only the page itself, under a name that no DNS server can point here, is served.
func TestAccess(t *testing.T) {
	v := visit(t)
	key := v.key()
	for _, tt := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/", nil, 200},
		{"GET", "/", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"}, 200},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		{"GET", "/app.js", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}, 200},
		{"GET", "/app.js", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"GET", "/../web.go", nil, 307},
		{"GET", "/nothing.js", nil, 404},
		{"POST", "/", nil, 405},
		{"GET", "/api/servers", nil, 401},
		{"GET", "/api/servers", []string{"Authorization: Bearer x"}, 401},
		{"GET", "/api/servers", []string{key}, 200},
		{"GET", "/api/servers", []string{key, "Host: localhost:1"}, 200},
		{"GET", "/api/servers", []string{key, "Host: [::1]:4000"}, 200},
		{"GET", "/api/servers", []string{key, "Host: 192.0.2.1:4000"}, 200},
		{"GET", "/api/servers", []string{key, "Host: Inspector.Example"}, 200},
		// DNS rebinding
		{"GET", "/api/servers", []string{key, "Host: attacker.example"}, 403},
		{"GET", "/", []string{"Host: attacker.example:4000"}, 403},
		{"GET", "/", []string{"Host: localhost.attacker.example"}, 403},
		// a foreign origin, from browsers with and without Fetch Metadata
		{"GET", "/api/servers", []string{key, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"}, 403},
		{"GET", "/api/servers", []string{key, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"}, 403},
		{"GET", "/api/servers", []string{key, "Origin: http://127.0.0.1:5000"}, 403},
		{"POST", "/api/traffic/clear", []string{key, "Origin: http://127.0.0.1:5000"}, 403},
		{"POST", "/api/traffic/clear", []string{key, "Origin: null"}, 403},
		{"POST", "/api/traffic/clear", []string{key, "Origin: https://127.0.0.1:4000"}, 403},
		{"POST", "/session", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403},
		{"POST", "/api/traffic/clear", []string{key, "Origin: http://127.0.0.1:4000"}, 200},
		{"POST", "/api/nothing", []string{key}, 404},
		{"GET", "/api/traffic/clear", []string{key}, 400}, // not a number
	} {
		status, text := v.send(tt.method, tt.path, "{}", tt.headers...)
		assert.Equal(t, status, tt.want, "%s %s %q: %s", tt.method, tt.path, tt.headers, text)
	}
}

// The token of the address is good for one page.
func TestTokenIsUsedOnce(t *testing.T) {
	v := visit(t)
	token := v.access.token
	status, _ := v.send("POST", "/session", `{"token":"guess"}`)
	assert.Equal(t, status, 401)
	status, _ = v.send("POST", "/session", `{"token":""}`)
	assert.Equal(t, status, 401)
	status, text := v.send("POST", "/session", `{"token":"`+token+`"}`)
	assert.Equal(t, status, 200)
	assert.Equal(t, text, `{"key":"`+v.access.key+`"}`)
	for _, again := range []string{token, ""} {
		status, _ = v.send("POST", "/session", `{"token":"`+again+`"}`)
		assert.Equal(t, status, 401)
	}
}

// What starts a server, and may be secret, is not sent to the page.
func TestSecretsStayHere(t *testing.T) {
	v := visit(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "config.json")
	assert.NilError(t, os.WriteFile(file, []byte(`{"mcpServers":{
		"a":{"command":"none","args":["--token","hunter-args"],"env":{"KEY":"hunter-env"}},
		"b":{"url":"http://user:hunter-user@127.0.0.1:1/mcp?key=hunter-query","headers":{"Authorization":"Bearer hunter-header"}}}}`),
		0o600))
	from := target.ConfigFlags{Files: []string{file}}
	chosen, err := from.Select("")
	assert.NilError(t, err)
	assert.NilError(t, v.site.servers.setConfigured(chosen, nil))
	word := &target.Target{Words: []string{"some-server", "--password", "hunter-word"}}
	std := &term.Streams{Err: &term.Console{W: io.Discard}}
	assert.NilError(t, v.site.servers.addTarget(word, std))
	var said strings.Builder
	for _, id := range []string{"a", "b", "some-server"} {
		_, text := v.send("POST", "/api/servers/"+id+"/do/start", `{}`, v.key())
		said.WriteString(text)
	}
	for _, path := range []string{"servers", "about", "traffic", "servers/a/definitions"} {
		_, text := v.send("GET", "/api/"+path, "", v.key())
		said.WriteString(text)
	}
	assert.Assert(t, cmp.Contains(said.String(), `"url":"http://127.0.0.1:1/mcp"`))
	assert.Assert(t, cmp.Contains(said.String(), "-- some-server …"))
	assert.Assert(t, !strings.Contains(said.String(), "hunter"), "%s", said.String())
}

// The stream of changes says what is new at once, and ends with its page.
func TestChanges(t *testing.T) {
	v := visit(t)
	s := httptest.NewServer(v.handler)
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/changes", nil)
	assert.NilError(t, err)
	r.Header.Set("Authorization", "Bearer "+v.access.key)
	response, err := s.Client().Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	next := func() string {
		for {
			line, err := in.ReadString('\n')
			assert.NilError(t, err)
			if line != "\n" {
				return strings.TrimSpace(line)
			}
		}
	}
	assert.Equal(t, next(), "data: {}")
	const flood = 10_000
	for range flood {
		v.site.changes.Add("traffic")
	}
	events, last := 1, next()
	for last != fmt.Sprintf(`data: {"traffic":%d}`, flood) {
		events, last = events+1, next()
	}
	assert.Assert(t, events < 100, "%d events", events)
}

// The files of the page are all that it needs, and small.
func TestPage(t *testing.T) {
	v := visit(t)
	entries, err := page.ReadDir("page")
	assert.NilError(t, err)
	size := 0
	for _, e := range entries {
		status, text := v.send("GET", "/"+e.Name(), "")
		assert.Equal(t, status, 200)
		size += len(text)
		for _, foreign := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
			"eval(", "src=\"http", "href=\"http", "import('http"} {
			assert.Assert(t, !strings.Contains(text, foreign), "%s: %s", e.Name(), foreign)
		}
		assert.Assert(t, contentTypes[filepath.Ext(e.Name())] != "", e.Name())
	}
	assert.Assert(t, size <= 260<<10, "%d bytes", size)
	t.Logf("%d files, %d bytes", len(entries), size)
}
