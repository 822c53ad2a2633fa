package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc/mcp"
	mcpserver "github.com/stdwire/stdwire/server"
)

// An appSite is a site with a server "s" whose tool "show" has an app.
type appSite struct {
	*visitor
	http *httptest.Server
}

func visitApps(t *testing.T) *appSite {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := mcpserver.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		mcpserver.Info{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"show", "plain", "denied"} {
		assert.NilError(t, s.AddRawTool(mcpserver.RawTool{Tool: mcp.Tool{Name: name,
			InputSchema: json.RawMessage(`{"type":"object"}`)},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(name)}}, nil
			}}))
	}
	assert.NilError(t, s.AddApp(mcpserver.App{URI: "ui://s/page.html", Name: "page",
		HTML: []byte("<!doctype html><p>App</p>"), Tools: map[string][]string{"show": nil},
		CSP:         &mcp.AppCSP{ConnectDomains: []string{"https://api.example.com"}},
		Domain:      "app.example.com",
		Permissions: &mcp.AppPermissions{Camera: &mcp.Object{}, Microphone: &mcp.Object{}}}))
	v := visit(t)
	connect := func(_ context.Context, _ string, o client.Options) (*client.Client, error) {
		return mcptest.Connect(t, s, o), nil
	}
	assert.NilError(t, v.site.servers.add(&server{id: "s",
		filter:   &host.Filter{Deny: []string{"denied"}},
		upstream: gateway.Upstream{Server: host.Server{Connect: connect}}}))
	assert.NilError(t, v.site.frames.sandbox.listen(fakeAddr("127.0.0.1:4000")))
	a := &appSite{v, httptest.NewServer(v.handler)}
	t.Cleanup(func() {
		a.http.CloseClientConnections()
		a.http.Close()
		v.site.frames.wg.Wait()
		_ = v.site.frames.sandbox.listener.Close()
	})
	return a
}

// post sends a request and decodes the answer.
func (a *appSite) post(path, body string, into any) int {
	a.Helper()
	status, text := a.send("POST", path, body, a.key())
	if into != nil && status == http.StatusOK {
		assert.NilError(a, json.Unmarshal([]byte(text), into))
	}
	return status
}

// call calls the tool show, and returns the number of the call.
func (a *appSite) call() int64 {
	a.Helper()
	var started struct{ ID int64 }
	assert.Equal(a, a.post("/api/calls",
		`{"server":"s","method":"tools/call","params":{"name":"show","arguments":{"a":1}}}`, &started), 200)
	one, err := a.site.calls.get(started.ID)
	assert.NilError(a, err)
	<-one.done
	return started.ID
}

// show shows the app for a call.
func (a *appSite) show(call int64, digest string) (frameDetails, int) {
	a.Helper()
	var d frameDetails
	status := a.post("/api/apps", fmt.Sprintf(
		`{"server":"s","tool":"show","digest":%q,"call":%d,"permissions":{"camera":{}},"theme":"dark","width":400}`,
		digest, call), &d)
	return d, status
}

func (a *appSite) digest() string {
	a.Helper()
	var about appSummary
	assert.Equal(a, a.post("/api/apps/read", `{"server":"s","tool":"show"}`, &about), 200)
	assert.DeepEqual(a, about.Origins, []string{"https://api.example.com"})
	assert.Equal(a, about.Domain, "app.example.com")
	return about.Digest
}

// events returns a function that returns the next event of a frame, and one that disconnects.
func (a *appSite) events(id string) (next func() string, stop func()) {
	a.Helper()
	ctx, cancel := context.WithCancel(a.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", a.http.URL+"/api/apps/"+id+"/events", nil)
	assert.NilError(a, err)
	r.Header.Set("Authorization", "Bearer "+a.access.key)
	response, err := a.http.Client().Do(r)
	assert.NilError(a, err)
	a.Cleanup(func() { cancel(); response.Body.Close() })
	in := bufio.NewReader(response.Body)
	return func() string {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return "end"
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				return strings.TrimSpace(text)
			}
		}
	}, cancel
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"ui/initialize","params":{"protocolVersion":"2026-01-26","appInfo":{"name":"a","version":"1"},"appCapabilities":{}}}`

// An app receives nothing before ui/initialize, and its call after it.
func TestFrame(t *testing.T) {
	a := visitApps(t)
	d, status := a.show(a.call(), a.digest())
	assert.Equal(t, status, 200)
	assert.Assert(t, strings.HasSuffix(d.Address, "/"+d.ID), d.Address)
	assert.Assert(t, strings.HasPrefix(d.Address, d.Origin), d.Address)
	assert.Equal(t, d.Allow, "camera")
	policy, known := a.site.frames.sandbox.policy(d.ID)
	assert.Assert(t, known)
	assert.Assert(t, cmp.Contains(policy, "connect-src https://api.example.com"))
	next, _ := a.events(d.ID)
	say := func(messages string) {
		t.Helper()
		assert.Equal(t, a.post("/api/apps/"+d.ID+"/messages", messages, nil), 200)
	}
	say("[" + hello + "]")
	welcome := next()
	assert.Assert(t, cmp.Contains(welcome, `"theme":"dark"`))
	assert.Assert(t, cmp.Contains(welcome, `"camera":{}`))
	assert.Assert(t, !strings.Contains(welcome, "microphone"))
	say(`[{"jsonrpc":"2.0","method":"ui/notifications/initialized"}]`)
	assert.Assert(t, cmp.Contains(next(), `"method":"ui/notifications/tool-input","params":{"arguments":{"a":1}}`))
	assert.Assert(t, cmp.Contains(next(), `"method":"ui/notifications/tool-result"`))
	say(`[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plain"}}]`)
	assert.Assert(t, cmp.Contains(next(), `"text":"plain"`))
	say(`[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"denied"}}]`)
	assert.Assert(t, cmp.Contains(next(), "the configuration does not allow this tool"))
	say(`[{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":12}}]`)
	assert.Equal(t, next(), `{"size":{"height":12}}`)
	assert.Equal(t, a.post("/api/apps/"+d.ID+"/context", `{"theme":"light"}`, nil), 200)
	assert.Assert(t, cmp.Contains(next(), `"params":{"theme":"light"}`))
	assert.Equal(t, a.post("/api/apps/"+d.ID+"/context", `{"width":360}`, nil), 200)
	assert.Assert(t, cmp.Contains(next(), `{"containerDimensions":{"width":360,"maxHeight":2000}}`))
	assert.Equal(t, a.post("/api/apps/"+d.ID+"/context",
		`{"displayMode":"pip","width":360,"height":640}`, nil), 200)
	assert.Assert(t, cmp.Contains(next(),
		`{"displayMode":"pip","containerDimensions":{"width":360,"height":640}}`))
	// a second page may not listen
	status, _ = a.send("GET", "/api/apps/"+d.ID+"/events", "", a.key())
	assert.Equal(t, status, 403)
	closed := make(chan int)
	go func() { closed <- a.post("/api/apps/"+d.ID+"/close", "{}", nil) }()
	assert.Assert(t, cmp.Contains(next(), "ui/resource-teardown"))
	say(`[{"jsonrpc":"2.0","id":1,"result":{}}]`)
	assert.Equal(t, <-closed, 200)
	assert.Equal(t, next(), "end")
}

// An app that is shown before its call gets parts of the arguments, and then the call.
func TestStagedInput(t *testing.T) {
	a := visitApps(t)
	d, status := a.show(0, a.digest())
	assert.Equal(t, status, 200)
	next, _ := a.events(d.ID)
	post := func(path, body string) int {
		t.Helper()
		return a.post("/api/apps/"+d.ID+"/"+path, body, nil)
	}
	assert.Equal(t, post("messages", `[`+hello+`,{"jsonrpc":"2.0","method":"ui/notifications/initialized"}]`), 200)
	next()
	for _, tc := range []struct {
		percent int
		want    string
	}{{0, `{}`}, {50, `{"text":"a"}`}, {100, `{"text":"abcd","n":1}`}} {
		assert.Equal(t, post("partial", fmt.Sprintf(
			`{"arguments": {"text": "abcd", "n": 1}, "percent": %d}`, tc.percent)), 200)
		assert.Assert(t, cmp.Contains(next(),
			`"method":"ui/notifications/tool-input-partial","params":{"arguments":`+tc.want+`}`))
	}
	for _, wrong := range []string{`{"arguments":[],"percent":1}`, `{"percent":1}`,
		`{"arguments":{},"percent":101}`, `{"arguments":{},"percent":-1}`} {
		assert.Equal(t, post("partial", wrong), 400, wrong)
	}
	assert.Equal(t, post("call", `{"call":99}`), 404)
	var other struct{ ID int64 }
	assert.Equal(t, a.post("/api/calls",
		`{"server":"s","method":"tools/call","params":{"name":"plain","arguments":{}}}`, &other), 200)
	assert.Equal(t, post("call", fmt.Sprintf(`{"call":%d}`, other.ID)), 400)
	call := fmt.Sprintf(`{"call":%d}`, a.call())
	assert.Equal(t, post("call", call), 200)
	assert.Assert(t, cmp.Contains(next(), `"method":"ui/notifications/tool-input","params":{"arguments":{"a":1}}`))
	assert.Assert(t, cmp.Contains(next(), `"method":"ui/notifications/tool-result"`))
	assert.Equal(t, post("call", call), 403)
	assert.Equal(t, post("partial", `{"arguments":{},"percent":1}`), 403)
}

// A page that goes away ends its apps; what was agreed to is what is shown.
func TestFramesEnd(t *testing.T) {
	a := visitApps(t)
	call, digest := a.call(), a.digest()
	_, status := a.show(call, "sha256:another")
	assert.Equal(t, status, 403)
	_, status = a.show(99, digest)
	assert.Equal(t, status, 404)
	assert.Equal(t, a.post("/api/apps", fmt.Sprintf(`{"server":"s","tool":"plain","digest":%q,"call":%d}`,
		digest, call), nil), 400)
	assert.Equal(t, a.post("/api/apps/read", `{"server":"s","tool":"plain"}`, nil), 404)
	assert.Equal(t, a.post("/api/apps/read", `{"server":"other","tool":"show"}`, nil), 404)

	var all []frameDetails
	for range maxFrames {
		d, status := a.show(call, digest)
		assert.Equal(t, status, 200)
		all = append(all, d)
	}
	_, status = a.show(call, digest)
	assert.Equal(t, status, 403)
	for _, d := range all {
		assert.Assert(t, cmp.Len(d.ID, len(all[0].ID)))
		_, stop := a.events(d.ID)
		stop()
	}
	a.site.frames.wg.Wait()
	for _, d := range all {
		_, known := a.site.frames.sandbox.policy(d.ID)
		assert.Assert(t, !known)
		// what the page sends meanwhile is no error
		assert.Equal(t, a.post("/api/apps/"+d.ID+"/messages", "["+hello+"]", nil), 200)
		assert.Equal(t, a.post("/api/apps/"+d.ID+"/context", `{"theme":"dark"}`, nil), 200)
		assert.Equal(t, a.post("/api/apps/"+d.ID+"/close", "{}", nil), 200)
		status, _ := a.send("GET", "/api/apps/"+d.ID+"/events", "", a.key())
		assert.Equal(t, status, 404)
	}
	_, status = a.show(call, digest)
	assert.Equal(t, status, 200)
	// so does the end of the server
	assert.Equal(t, a.post("/api/servers/s/do/disable", "{}", nil), 200)
	a.site.frames.wg.Wait()
}
