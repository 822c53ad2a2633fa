package streamable_test

import (
	"net/http"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A tagging is a transport that adds to what it sends.
type taggingTransport struct {
	http.RoundTripper
	methods chan string
}

func (g *taggingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	g.methods <- req.Method
	req = req.Clone(req.Context())
	req.Header.Set("Tag", "mine")
	return g.RoundTripper.RoundTrip(req)
}

// What wraps the transport is made once, and sees all that is sent: calls, what is told, the stream
// of a legacy server, the end of the session, and each step of a redirection.
func TestWrap(t *testing.T) {
	listening := getStreamServer(func(w http.ResponseWriter, r *recordedRequest, _ int) {
		events(w, r).hold()
	})
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		if r.message.Method == "tools/call" && r.URL.Path == "/mcp" {
			http.Redirect(w, r.Request, "/moved", http.StatusTemporaryRedirect)
			return
		}
		listening(w, r)
	}, func(t *testing.T, s *testServer) {
		made := 0
		methods := make(chan string, 100)
		s.o.Wrap = func(base http.RoundTripper) http.RoundTripper {
			made++
			return &taggingTransport{base, methods}
		}
		c := s.connect(t, client.Options{OnToolsChanged: func([]*mcp.Tool, error) {}})
		check(t, c)
		s.lines() // when the stream is there
		assert.NilError(t, c.Close())
		assert.Equal(t, made, 1)
		lines := s.lines()
		assert.Equal(t, len(methods), len(lines))
		for i, r := range s.seen {
			assert.Equal(t, r.Header.Get("Tag"), "mine", lines[i])
		}
		for _, line := range []string{"GET", "DELETE", "POST tools/call",
			"POST notifications/initialized"} {
			assert.Assert(t, s.count(line) > 0, "%s: %v", line, lines)
		}
		assert.Equal(t, s.count("POST tools/call"), 2)
	})
}
