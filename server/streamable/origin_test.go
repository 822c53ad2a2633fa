package streamable_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// arrive has a handler serve a request that came to an address of this machine.
func arrive(h http.Handler, method, address, host, body string,
	lines header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/mcp", strings.NewReader(body))
	r = r.WithContext(
		context.WithValue(r.Context(), http.LocalAddrContextKey,
			&net.TCPAddr{IP: net.ParseIP(address), Port: 80}))
	r.Host = host
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	lines.apply(r.Header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const local = "127.0.0.1"

func TestOriginMustBeValidated(t *testing.T) {
	w := newFixture(server.Options{})
	for name, tc := range map[string]struct {
		o             streamable.Options
		address, host string
		lines         header
		status        int
	}{
		"no browser, by address": {streamable.Options{}, local,
			"127.0.0.1:8080", "", 200},
		"no browser, by name": {streamable.Options{}, local,
			"LOCALHOST:8080", "", 200},
		"no browser, IPv6": {streamable.Options{}, "::1", "[::1]:8080",
			"", 200},
		"no browser, IPv6 without port": {streamable.Options{}, "::1", "[::1]", "",
			200},
		"no browser, another loopback address": {streamable.Options{}, "127.8.9.10",
			"127.8.9.10:8080", "", 200},
		"a page of another loopback address": {streamable.Options{}, "127.8.9.10",
			"127.8.9.10:8080", "Origin: http://127.8.9.10:8080", 200},
		"a name that was made to point here": {streamable.Options{}, local,
			"evil.example.com", "Origin: http://evil.example.com", 403},
		"the same without an origin": {streamable.Options{}, local,
			"evil.example.com", "", 403},
		"a page of another site": {streamable.Options{}, local,
			"localhost:8080", "Origin: https://evil.example.com", 403},
		"a page of its own": {streamable.Options{}, local,
			"localhost:8080", "Origin: http://localhost:8080", 200},
		"a page of this machine": {streamable.Options{}, local,
			"localhost:8080", "Origin: http://127.0.0.1:6274", 200},
		"a page of nowhere": {streamable.Options{}, local,
			"localhost:8080", "Origin: null", 403},
		"two origins": {streamable.Options{}, local,
			"localhost:8080", "Origin: http://localhost:8080\nOrigin: http://evil.example.com",
			403},
		"an allowed origin": {
			streamable.Options{AllowedOrigins: []string{"https://App.example.com"}}, local,
			"localhost", "Origin: https://app.example.com", 200},
		"one that only begins so": {
			streamable.Options{AllowedOrigins: []string{"https://app.example.com"}}, local,
			"localhost", "Origin: https://app.example.com.evil.org", 403},
		"any origin": {
			streamable.Options{AllowedOrigins: []string{"*"}}, local, "localhost",
			"Origin: https://any.example.com", 200},
		"any origin does not mean any host": {
			streamable.Options{AllowedOrigins: []string{"*"}}, local, "evil.example.com",
			"Origin: http://evil.example.com", 403},
		"an allowed host": {
			streamable.Options{AllowedHosts: []string{"MCP.example.com:443"}}, local,
			"mcp.example.com", "Origin: https://mcp.example.com", 200},
		"another host": {
			streamable.Options{AllowedHosts: []string{"mcp.example.com"}}, local, "localhost", "",
			403},
		"not local: no browser, any name": {streamable.Options{}, "192.0.2.1",
			"mcp.example.com", "", 200},
		"not local: a browser, any name": {streamable.Options{}, "192.0.2.1",
			"mcp.example.com", "Origin: http://mcp.example.com", 403},
		"not local: a browser, the address": {streamable.Options{}, "192.0.2.1",
			"192.0.2.1", "Origin: http://192.0.2.1", 200},
		"not local: a browser, a named host": {
			streamable.Options{AllowedHosts: []string{"mcp.example.com"}}, "192.0.2.1",
			"mcp.example.com", "Origin: https://mcp.example.com", 200},
		"not local: a browser on this machine's own": {streamable.Options{}, "192.0.2.1",
			"192.0.2.1", "Origin: http://localhost", 403},
	} {
		t.Run(name, func(t *testing.T) {
			h := tc.o.New(w.server)
			defer h.Close()
			got := arrive(h, "POST", tc.address, tc.host,
				strings.Replace(initialize, "REVISION", "2025-11-25", 1), tc.lines)
			assert.Equal(t, got.Code, tc.status, got.Body.String())
			if tc.status == 403 {
				assert.Assert(t,
					strings.HasPrefix(got.Body.String(),
						`{"jsonrpc":"2.0","error":{"code":-32600,`), got.Body.String())
				// All connections: also those that only read.
				for _, method := range []string{"GET", "DELETE", "OPTIONS"} {
					assert.Equal(t, arrive(h, method, tc.address, tc.host, "", tc.lines).Code, 403)
				}
			}
		})
	}
}

// A page of an allowed origin can really call, as a browser asks first, and hides what is not
// exposed.
func TestBrowsers(t *testing.T) {
	h := streamable.Options{AllowedOrigins: []string{"https://app.example.com"}}.New(
		newFixture(server.Options{}).server)
	defer h.Close()
	const page = "Origin: https://app.example.com\n"
	got := arrive(h, "OPTIONS", local, "localhost", "", page+
		"Access-Control-Request-Method: POST\nAccess-Control-Request-Headers: mcp-method, content-type")
	assert.Equal(t, got.Code, 204)
	assert.Equal(t, got.Header().Get("Access-Control-Allow-Origin"), "https://app.example.com")
	assert.Equal(t, got.Header().Get("Access-Control-Allow-Headers"), "mcp-method, content-type")
	assert.Equal(t, got.Header().Get("Access-Control-Allow-Methods"), "POST, GET, DELETE")
	got = arrive(h, "POST", local, "localhost",
		strings.Replace(initialize, "REVISION", "2025-11-25", 1), page)
	assert.Equal(t, got.Code, 200)
	assert.Equal(t, got.Header().Get("Access-Control-Allow-Origin"), "https://app.example.com")
	assert.Assert(t,
		strings.Contains(got.Header().Get("Access-Control-Expose-Headers"), "Mcp-Session-Id"))
	assert.Equal(t, got.Header().Get("Vary"), "Origin")
	// Others get none of that.
	got = arrive(h, "OPTIONS", local, "localhost", "",
		"Origin: http://localhost\nAccess-Control-Request-Method: POST")
	assert.Equal(t, got.Code, 405)
	assert.Equal(t, got.Header().Get("Access-Control-Allow-Origin"), "")
}

func byToken(r *http.Request) (string, error) {
	switch token := r.Header.Get("Authorization"); token {
	case "Bearer a", "Bearer b":
		return strings.TrimPrefix(token, "Bearer "), nil
	case "Bearer weak":
		return "", &streamable.Refusal{Status: 403,
			Challenge: `Bearer error="insufficient_scope", scope="more"`, Message: "more is wanted"}
	case "Bearer panic":
		panic("secret")
	}
	return "", errors.New("secret")
}

func TestPrincipal(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	for token, want := range map[string]struct {
		status    int
		challenge string
		text      string
	}{
		"":             {401, "Bearer", "the caller may not call this; send valid credentials"},
		"Bearer weak":  {403, `Bearer error="insufficient_scope", scope="more"`, "more is wanted"},
		"Bearer panic": {500, "", "the caller could not be determined; the log has the cause"},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			a := s.do(t.Context(), method, s.url, modernCall("tools/list", ""),
				header("Authorization: "+token))
			text := a.text()
			assert.Equal(t, a.StatusCode, want.status)
			assert.Equal(t, a.Header.Get("WWW-Authenticate"), want.challenge)
			assert.Assert(t, strings.Contains(text, want.text) &&
				!strings.Contains(text, "secret"), text)
		}
	}
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "Authorization: Bearer a").StatusCode, 200)
}

// A session is of the principal that opened it; to anybody else it is not there.
func TestSessionHijacking(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	c := s.connect("2025-11-25", a)
	stream := c.get(a).isStream()
	s.changeTools("new")
	e := stream.event("list_changed")
	assert.Equal(t, c.call("1", "echo", "x", b).StatusCode, 404)
	assert.Equal(t, c.post(
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		b).StatusCode, 404)
	assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, b).StatusCode, 404)
	assert.Equal(t, c.get(b).StatusCode, 404)
	assert.Equal(t, c.get(b+header("Last-Event-Id: "+e.id)).StatusCode, 404)
	assert.Equal(t, s.do(t.Context(), "DELETE", s.url, "", b+
		header("Mcp-Session-Id: "+c.id)).StatusCode, 404)
	assert.Equal(t, c.call("1", "echo", "x", a).StatusCode, 200)
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 401)
}
