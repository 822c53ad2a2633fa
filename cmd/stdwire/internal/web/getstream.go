package web

import (
	"io"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// observe returns a function that wraps the transport of a server at a URL. The wrapped transport
// records its exchanges, and opens no GET stream if omitStream has turned that off.
func (s *servers) observe(id string) func(http.RoundTripper) http.RoundTripper {
	observe := s.traffic.Observe(id)
	return func(next http.RoundTripper) http.RoundTripper {
		return observe(&streamFilter{s, id, next})
	}
}

// A streamFilter answers GET requests for a stream that is turned off with 405, in place of the
// server.
type streamFilter struct {
	servers *servers
	id      string
	next    http.RoundTripper
}

func (t *streamFilter) RoundTrip(r *http.Request) (*http.Response, error) {
	// a request without a revision asks for HTTP+SSE, one with an event resumes a response
	if r.Method != http.MethodGet || r.Header.Get(mcp.HeaderProtocolVersion) == "" ||
		r.Header.Get("Last-Event-Id") != "" || !t.servers.omitsStream(t.id) {
		return t.next.RoundTrip(r)
	}
	const why = "the page leaves out the GET stream"
	return &http.Response{StatusCode: http.StatusMethodNotAllowed, Status: "405 Method Not Allowed",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(why)), ContentLength: int64(len(why))}, nil
}

func (s *servers) omitsStream(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noStream[id]
}

// omitStream turns the GET stream of legacy sessions with a server off or on. It restarts the
// server if it is connected.
func (s *servers) omitStream(id string, omit bool) error {
	srv, err := s.find(id)
	if err != nil {
		return err
	}
	if srv.endpoint == nil {
		return reply.NotFound("GET stream of", id)
	}
	s.mu.Lock()
	s.noStream[id] = omit
	s.mu.Unlock()
	s.changes.Add(changes.Servers)
	for _, status := range s.manager.Status() {
		if status.ID == id && status.State == host.Ready {
			return s.manager.Restart(id)
		}
	}
	return nil
}
