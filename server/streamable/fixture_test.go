package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A fixture is a server under test: its tools, and what the tests steer them with.
type fixture struct {
	server  *server.Server
	catalog *dispatch.Catalog
	begun   chan string   // a tool says that it runs
	release chan struct{} // lets a tool go on
	ended   chan error    // the cause of the end of a tool's context
}

type echoed struct {
	Text string `json:"text"`
}

func newFixture(o server.Options) *fixture {
	w := &fixture{catalog: dispatch.NewCatalog(), begun: make(chan string, 2000),
		release: make(chan struct{}), ended: make(chan error, 2000)}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	add := func(name string, fn func(ctx context.Context, in echoed) (echoed, error)) {
		dispatch.Add(w.catalog,
			dispatch.Spec{Name: name, Summary: "For tests.", Type: dispatch.Wait}, fn)
	}
	add("echo", func(_ context.Context, in echoed) (echoed, error) { return in, nil })
	add("panic", func(context.Context, echoed) (echoed, error) { panic("ashes") })
	add("hold", func(ctx context.Context, in echoed) (echoed, error) {
		w.begun <- in.Text
		select {
		case <-w.release:
			return in, nil
		case <-ctx.Done():
			w.ended <- context.Cause(ctx)
			return in, context.Cause(ctx)
		}
	})
	add("steps", func(ctx context.Context, in echoed) (echoed, error) {
		dispatch.Progress(ctx, 1, 3, "one")
		dispatch.Progress(ctx, 2, 3, "two")
		w.begun <- in.Text
		select {
		case <-w.release:
		case <-ctx.Done():
			w.ended <- context.Cause(ctx)
			return in, context.Cause(ctx)
		}
		dispatch.Progress(ctx, 3, 3, "three")
		return in, nil
	})
	add("poll", func(ctx context.Context, in echoed) (echoed, error) {
		if !streamable.CloseStream(ctx, 20*time.Millisecond) {
			return in, errors.New("not closed")
		}
		w.begun <- in.Text
		<-w.release
		return in, nil
	})
	add("flood", func(ctx context.Context, in echoed) (echoed, error) {
		most, _ := strconv.Atoi(in.Text)
		for i := 1; most == 0 || i <= most; i++ {
			dispatch.Progress(ctx, float64(i), 0, "wet")
			if ctx.Err() != nil {
				w.ended <- context.Cause(ctx)
				return in, context.Cause(ctx)
			}
		}
		w.begun <- in.Text
		return in, nil
	})
	w.server = o.New(server.Info{Name: "test", Version: "1"}, w.catalog)
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(w.server.AddRawTool(
		server.RawTool{Tool: mcp.Tool{Name: "ask"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				answer, err := server.Elicit(ctx, "name",
					mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{
						Content: []mcp.Content{
							&mcp.TextContent{Text: string(answer.Action) +
								string(answer.Content)}}},
					nil
			}}))
	must(w.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "regional", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer","x-mcp-header":"Level"}}}`)},
		Call: func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: string(arguments)}}}, nil
		}}))
	return w
}

// changeTools adds a tool, and so changes the list.
func (w *fixture) changeTools(name string) {
	err := w.server.AddRawTool(
		server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return nil, nil
			}})
	if err != nil {
		panic(err)
	}
}

// A site is a fixture behind a real HTTP server on a loopback address.
type site struct {
	*fixture
	t       testing.TB
	handler *streamable.Handler
	url     string
	client  *http.Client
}

func start(t testing.TB, o streamable.Options) *site {
	t.Helper()
	return startWorld(t, o, server.Options{})
}

func startWorld(t testing.TB, o streamable.Options, so server.Options) *site {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := newFixture(so)
	h := o.New(w.server)
	s := httptest.NewServer(h)
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(func() {
		h.Close()
		transport.CloseIdleConnections()
		s.Close()
	})
	return &site{w, t, h, s.URL + "/mcp", &http.Client{Transport: transport}}
}

const (
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	bothKinds  = "application/json, text/event-stream"
)

// A header is lines of "Name: value"; "-Name" takes one away.
type header string

func (h header) apply(to http.Header) {
	for line := range strings.SplitSeq(string(h), "\n") {
		if name, gone := strings.CutPrefix(line, "-"); gone {
			delete(to, http.CanonicalHeaderKey(name))
		} else if name, value, ok := strings.Cut(line, ": "); ok {
			to[http.CanonicalHeaderKey(name)] = append(to[http.CanonicalHeaderKey(name)], value)
		}
	}
}

// do sends a request as it is.
func (s *site) do(ctx context.Context, method, url, body string, h header) *answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	assert.NilError(s.t, err)
	if method == http.MethodPost {
		req.Header["Content-Type"] = []string{"application/json"}
	}
	req.Header["Accept"] = []string{bothKinds}
	h.apply(req.Header)
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := s.client.Do(req)
	assert.NilError(s.t, err)
	s.t.Cleanup(func() { res.Body.Close() })
	return &answer{t: s.t, Response: res, in: bufio.NewReader(res.Body)}
}

// modern sends a modern request. params goes before _meta and ends in a comma, if it is not empty.
func (s *site) modern(method, name, params string, h header) *answer {
	s.t.Helper()
	base := header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: " + method)
	if name != "" {
		base += header("\nMcp-Name: " + name)
	}
	return s.do(s.t.Context(), "POST", s.url, modernCall(method, params), base+"\n"+h)
}

func modernCall(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + modernMeta +
		`}}`
}

func (s *site) tool(name, arguments string, h header) *answer {
	s.t.Helper()
	return s.modern("tools/call", name, `"name":"`+name+`","arguments":`+arguments+`,`, h)
}

// A client is a legacy session.
type client struct {
	*site
	id string
}

const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"REVISION","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

func (s *site) connect(revision string, h header) *client {
	s.t.Helper()
	a := s.do(s.t.Context(), "POST", s.url, strings.Replace(initialize, "REVISION", revision, 1), h)
	assert.Equal(s.t, a.StatusCode, 200, a.text())
	c := &client{s, a.Header.Get("Mcp-Session-Id")}
	assert.Assert(s.t, c.id != "")
	assert.Equal(s.t,
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, h).StatusCode, 202)
	return c
}

func (c *client) post(body string, h header) *answer {
	c.t.Helper()
	return c.do(c.t.Context(), "POST", c.url, body, header("Mcp-Session-Id: "+c.id+"\n")+h)
}

func (c *client) get(h header) *answer {
	c.t.Helper()
	return c.do(c.t.Context(), "GET", c.url, "", header("Mcp-Session-Id: "+c.id+"\n")+h)
}

func (c *client) call(id, tool, text string, h header) *answer {
	c.t.Helper()
	return c.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+tool+
		`","arguments":{"text":"`+text+`"},"_meta":{"progressToken":`+id+`}}}`, h)
}

// An answer is what came back.
type answer struct {
	t testing.TB
	*http.Response
	in *bufio.Reader
}

func (a *answer) text() string {
	a.t.Helper()
	text, err := io.ReadAll(a.in)
	assert.NilError(a.t, err)
	return string(text)
}

// wants checks status, type and text of an answer that is JSON.
func (a *answer) wants(status int, text string) {
	a.t.Helper()
	got := a.text()
	assert.Equal(a.t, a.StatusCode, status, got)
	assert.Equal(a.t, a.Header.Get("Content-Type"), "application/json")
	assert.Equal(a.t, got, text)
}

// A sent is one event of a stream.
type sent struct{ id, kind, retry, data string }

// next reads an event; ok is false at the end of the stream. A comment is an event of the kind ":".
func (a *answer) next() (e sent, ok bool) {
	a.t.Helper()
	for {
		line, err := a.in.ReadString('\n')
		if err != nil {
			return e, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			if line != "\n" {
				return sent{kind: ":"}, true
			}
			return e, true
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "retry":
			e.retry = value
		case "data":
			e.data += value
		}
	}
}

// event reads an event that must be there, and have this in its data.
func (a *answer) event(contains string) sent {
	a.t.Helper()
	e, ok := a.next()
	assert.Assert(a.t, ok, "the stream has ended")
	assert.Assert(a.t, strings.Contains(e.data, contains), "%q is not in %+v", contains, e)
	return e
}

// isStream checks that the answer is a stream.
func (a *answer) isStream() *answer {
	a.t.Helper()
	assert.Equal(a.t, a.StatusCode, 200)
	assert.Equal(a.t, a.Header.Get("Content-Type"), "text/event-stream")
	assert.Equal(a.t, a.Header.Get("X-Accel-Buffering"), "no")
	assert.Equal(a.t, a.Header.Get("Cache-Control"), "no-store, no-transform")
	return a
}

// ends checks that a stream has ended.
func (a *answer) ends() {
	a.t.Helper()
	e, ok := a.next()
	assert.Assert(a.t, !ok, "%+v", e)
}

// offer adds a tool in MCP's own terms.
func (w *fixture) offer(name string, call func(context.Context) (*mcp.CallToolResult, error)) {
	err := w.server.AddRawTool(
		server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return call(ctx)
			}})
	if err != nil {
		panic(err)
	}
}
