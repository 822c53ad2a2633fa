package streamable_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

// Defect G1 of other implementations: one malformed message ends the session.
func TestG1MalformedBodyKeepsTheConnection(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c := s.connect("2025-11-25", "")
	get := c.get("").isStream()
	stream, post := s.openSSE("")
	for _, body := range []string{"", "{", "nonsense", "\x00\xff", "7", "null",
		`{"jsonrpc":"1.0","id":5,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1}`} {
		for _, a := range []*answer{c.post(body, ""), post(body),
			s.do(t.Context(), "POST", s.url, body, "Mcp-Protocol-Version: 2026-07-28")} {
			assert.Equal(t, a.StatusCode, 400, body)
			assert.Assert(t, strings.Contains(a.text(), `"error":{"code":-32`), body)
		}
	}
	c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "").wants(200,
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	stream.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	s.changeTools("new")
	get.event("list_changed")
}

// Defects G3 and M16 of other implementations: ids go through a float64, and come back as others.
func TestG3M16IDsAreEchoed(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c, old := s.connect("2025-11-25", ""), s.connect("2025-03-26", "")
	stream, post := s.openSSE("")
	for _, id := range []string{`9007199254740993`, `-9007199254740993`, `1.5`, `-1`, `0`, `""`,
		`"\u0061\/"`, `1e2`, `123456789012345678901234567890`} {
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
		ping := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
		c.post(ping, "").wants(200, want)
		old.post("["+ping+"]", "").wants(200, "["+want+"]")
		post(ping)
		assert.Equal(t, stream.event("").data, want)
		a := s.do(t.Context(), "POST", s.url,
			strings.Replace(modernCall("no/such", ""), `"id":1`, `"id":`+id, 1),
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: no/such")
		assert.Assert(t, strings.HasPrefix(a.text(), `{"jsonrpc":"2.0","id":`+id+`,"error":`))
	}
}

// Defects G9 and M6 of other implementations: bodies are read whole, however large.
func TestG9M6BodiesAreBounded(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true, MaxBody: 1000})
	c := s.connect("2025-11-25", "")
	_, post := s.openSSE("")
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1000) +
		`"}}`
	for _, a := range []*answer{c.post(large, ""), post(large),
		s.do(t.Context(), "POST", s.url, large, "Mcp-Protocol-Version: 2026-07-28"),
		c.post("["+large+"]", "")} {
		assert.Equal(t, a.StatusCode, 413)
	}
	// Nor is one awaited that never ends.
	endless := httptest.NewRequest("POST", "/mcp",
		io.MultiReader(strings.NewReader(`{"x":"`), spaces{}))
	endless.Header.Set("Content-Type", "application/json")
	endless.ContentLength = -1
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, endless)
	assert.Equal(t, w.Code, 413)
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// hangsUp is a client that goes when it has read something.
type hangsUp struct {
	*httptest.ResponseRecorder
	hangUp context.CancelFunc
}

func (h hangsUp) Write(p []byte) (int, error) {
	h.hangUp()
	return len(p), nil
}

// Defect M16 of other implementations: an answer to nothing is taken for a request, and answered.
func TestM16StrayAnswersAreNotAnswered(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	c := s.connect("2025-11-25", "")
	stream, post := s.openSSE("")
	for _, body := range []string{`{"jsonrpc":"2.0","id":77,"error":{"code":-32000,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`} {
		for _, a := range []*answer{c.post(body, ""), post(body)} {
			assert.Equal(t, a.StatusCode, 202)
			assert.Equal(t, a.text(), "")
		}
		a := s.do(t.Context(), "POST", s.url, body, "Mcp-Protocol-Version: 2026-07-28")
		// a modern client has nothing to answer
		assert.Equal(t, a.StatusCode, http.StatusBadRequest)
		assert.Assert(t, !strings.Contains(a.text(), `"id"`))
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	stream.event(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}
