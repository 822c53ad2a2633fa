package streamable_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

// The transport of 2024-11-05, on the same endpoint as the others.
func TestHTTPSSE(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true, Principal: byToken})
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	stream := s.do(t.Context(), "GET", strings.TrimSuffix(s.url, "/mcp")+"/sse?x=1", "",
		a).isStream()
	endpoint, ok := stream.next()
	assert.Assert(t, ok)
	assert.Equal(t, endpoint.kind, "endpoint")
	assert.Assert(t, strings.HasPrefix(endpoint.data, "/sse?sessionId="), endpoint.data)
	to := strings.TrimSuffix(s.url, "/mcp") + endpoint.data
	post := func(body string, h header) *answer { return s.do(t.Context(), "POST", to, body, h) }

	assert.Equal(t, post(strings.Replace(initialize, "REVISION", "2024-11-05", 1), a).StatusCode,
		202)
	e := stream.event(`"id":"i","result":{"protocolVersion":"2024-11-05"`)
	assert.Equal(t, e.kind, "message")
	assert.Equal(t, e.id, "")
	assert.Equal(t, post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, a).StatusCode,
		202)
	assert.Equal(t, post(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","arguments":{"text":"x"},"_meta":{"progressToken":1}}}`,
		a).StatusCode, 202)
	stream.event("one")
	stream.event("two")
	// the id is taken
	assert.Equal(t, post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, a).StatusCode, 400)
	assert.Equal(t, post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, a).StatusCode, 202)
	stream.event(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	<-s.begun
	s.release <- struct{}{}
	stream.event("three")
	stream.event(`"id":1,"result"`)
	s.changeTools("new")
	stream.event("list_changed")
	assert.Equal(t, post(
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
		a).StatusCode, 202)
	<-s.begun
	assert.Equal(t, post(
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		a).StatusCode, 202)
	assert.Error(t, <-s.ended, "rpc: cancelled by the peer")

	post(`{"jsonrpc":`, a).wants(400,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 11: a value is missing"}}`)
	assert.Equal(t, post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, b).StatusCode, 404)
	assert.Equal(t, s.do(t.Context(), "POST", s.url+"?sessionId=x",
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`, a).StatusCode, 404)
	// It is no session of the other transport, nor the other way round.
	id := strings.TrimPrefix(endpoint.data, "/sse?sessionId=")
	assert.Equal(t, s.do(t.Context(), "POST", s.url, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, a+
		header("Mcp-Session-Id: "+id)).StatusCode, 404)
	c := s.connect("2025-11-25", a)
	assert.Equal(t, s.do(t.Context(), "POST", s.url+"?sessionId="+c.id,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`, a).StatusCode, 404)

	assert.Equal(t, post(
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
		a).StatusCode, 202)
	<-s.begun
	stream.Body.Close() // ends the session, and all that runs in it
	<-s.ended
	for post(`{"jsonrpc":"2.0","method":"notifications/x"}`, a).StatusCode != 404 {
	}
}

// Behind a proxy that removes a prefix, the first event has the address that clients see.
func TestHTTPSSEPublicURL(t *testing.T) {
	for public, want := range map[string]string{
		"":                              "/mcp?sessionId=",
		"/prefix/mcp":                   "/prefix/mcp?sessionId=",
		"https://example.com/p/mcp":     "https://example.com/p/mcp?sessionId=",
		"mcp":                           "/mcp?sessionId=",
		"//example.com/mcp":             "/mcp?sessionId=",
		"ftp://example.com/mcp":         "/mcp?sessionId=",
		"/mcp?x=1":                      "/mcp?sessionId=",
		"https://me:pw@example.com/mcp": "/mcp?sessionId=",
		"/%zz":                          "/mcp?sessionId=",
	} {
		s := start(t, streamable.Options{HTTPSSE: true, PublicURL: public})
		endpoint, ok := s.do(t.Context(), "GET", s.url, "", "").isStream().next()
		assert.Assert(t, ok, public)
		assert.Assert(t, strings.HasPrefix(endpoint.data, want), "%s: %s", public, endpoint.data)
	}

	// A client of the old transport, through the proxy.
	s := start(t, streamable.Options{HTTPSSE: true, PublicURL: "/prefix/mcp"})
	target, err := url.Parse(strings.TrimSuffix(s.url, "/mcp"))
	assert.NilError(t, err)
	proxy := httptest.NewServer(http.StripPrefix("/prefix", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	stream := s.do(t.Context(), "GET", proxy.URL+"/prefix/mcp", "", "").isStream()
	endpoint, ok := stream.next()
	assert.Assert(t, ok)
	assert.Equal(t, s.do(t.Context(), "POST", proxy.URL+endpoint.data,
		strings.Replace(initialize, "REVISION", "2024-11-05", 1), "").StatusCode, 202)
	stream.event(`"id":"i","result":{"protocolVersion":"2024-11-05"`)
}

func TestHTTPSSEServerCallsTheClient(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	stream := s.do(t.Context(), "GET", s.url, "", "").isStream()
	endpoint, _ := stream.next()
	to := strings.TrimSuffix(s.url, "/mcp") + endpoint.data
	post := func(body string) {
		t.Helper()
		assert.Equal(t, s.do(t.Context(), "POST", to, body, "").StatusCode, 202)
	}
	post(strings.Replace(initialize, "REVISION", "2025-06-18", 1))
	stream.event(`"id":"i"`)
	post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
	stream.event(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"`)
	post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`)
	stream.event(`"text":"decline"`)
	// Who says to speak a revision that has sessions has forgotten to say which session.
	assert.Equal(t, s.do(t.Context(), "GET", s.url, "",
		"Mcp-Protocol-Version: 2025-11-25").StatusCode, 400)
}

func TestHTTPSSEEndsWithTheHandler(t *testing.T) {
	inBubble(t, streamable.Options{HTTPSSE: true}, func(t *testing.T, b *bubble) {
		w := b.dial()
		stream := w.ask("GET", "", "").isStream()
		e, _ := stream.next()
		assert.Equal(t, e.kind, "endpoint")
		done := make(chan struct{})
		go func() {
			b.handler.Close()
			close(done)
		}()
		stream.ends()
		<-done
		w.Close()
	})
}

// openSSE opens a session of the transport of 2024-11-05, and returns its stream and what sends
// messages.
func (s *site) openSSE(h header) (stream *answer, post func(body string) *answer) {
	s.t.Helper()
	stream = s.do(s.t.Context(), "GET", s.url, "", h).isStream()
	e, _ := stream.next()
	assert.Equal(s.t, e.kind, "endpoint")
	post = func(body string) *answer {
		s.t.Helper()
		return s.do(s.t.Context(), "POST", strings.TrimSuffix(s.url, "/mcp")+e.data, body, h)
	}
	assert.Equal(s.t, post(strings.Replace(initialize, "REVISION", "2024-11-05", 1)).StatusCode,
		202)
	stream.event(`"id":"i"`)
	return stream, post
}
