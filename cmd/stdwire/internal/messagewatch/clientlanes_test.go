package messagewatch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A watchedServer is a server over HTTP whose messages are watched.
type watchedServer struct {
	t    *testing.T
	w    *Messages
	url  string
	next int64
}

func newWatchedServer(t *testing.T) *watchedServer {
	w := New()
	t.Cleanup(w.Close)
	var o server.Options
	w.ObserveClients(&o.Hooks)
	s := o.New(server.Info{Name: "gateway", Version: "1"}, dispatch.NewCatalog())
	h := streamable.Options{MaxSessions: 1000, Principal: func(r *http.Request) (string, error) {
		return r.Header.Get("Principal"), nil
	}}.New(s)
	t.Cleanup(h.Close)
	listening := httptest.NewServer(w.Handler(h))
	t.Cleanup(listening.Close)
	return &watchedServer{t: t, w: w, url: listening.URL}
}

// post sends a message and returns the session of the answer.
func (s *watchedServer) post(principal, session, message string) string {
	s.t.Helper()
	return s.send("POST", principal, session, message)
}

func (s *watchedServer) send(method, principal, session, message string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(message))
	assert.NilError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Principal", principal)
	if session != "" {
		r.Header.Set(mcp.HeaderSessionID, session)
	}
	if strings.Contains(message, mcp.MetaProtocolVersion) {
		r.Header.Set(mcp.HeaderProtocolVersion, string(mcp.Latest))
		r.Header.Set("Mcp-Method", mcp.MethodListTools)
	}
	answer, err := http.DefaultClient.Do(r)
	assert.NilError(s.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	assert.NilError(s.t, err)
	assert.Assert(s.t, answer.StatusCode < 300, "%s: %s", answer.Status, body)
	return answer.Header.Get(mcp.HeaderSessionID)
}

func (s *watchedServer) initialize(principal, name string) (session string) {
	s.t.Helper()
	return s.post(principal, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize",`+
		`"params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":%s,"version":"1"}}}`, jsonscan.AppendString(nil, name)))
}

func (s *watchedServer) list(principal, session string) {
	s.t.Helper()
	s.post(principal, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
}

func (s *watchedServer) listModern(principal, name string) {
	s.t.Helper()
	s.post(principal, "", fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/list",`+
		`"params":{"_meta":{%q:%q,%q:{},%q:{"name":%q,"version":"1"}}}}`, mcp.MetaProtocolVersion,
		mcp.Latest, mcp.MetaClientCapabilities, mcp.MetaClientInfo, name))
}

// saw waits for the next messages and compares them: lane, side and method of each.
func (s *watchedServer) saw(want ...string) {
	s.t.Helper()
	var got []string
	for len(got) < len(want) {
		page := s.w.Since(s.t.Context(), s.next)
		s.next = page.Next
		for _, m := range page.Messages {
			assert.Assert(s.t, m.Client)
			r, err := tap.ParseRecord([]byte(m.Record))
			assert.NilError(s.t, err)
			if r.Type == tap.Request || r.Type == tap.Response {
				got = append(got, fmt.Sprintf("%s, %s %s", m.Lane, r.Type, r.Method))
			}
		}
	}
	assert.DeepEqual(s.t, got, want)
}

// isFree waits until nobody uses a lane any more, which is known soon after a session has ended.
func (s *watchedServer) isFree(lane string) {
	s.t.Helper()
	l := s.w.clients
	eventually.True(s.t, "nobody uses "+lane, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return !slices.ContainsFunc(l.all, func(c *clientLane) bool {
			return c.name == lane && c.uses > 0
		})
	})
}

// A session has a lane of its own from its initialize on, and so has each program that sends
// modern requests. Both sides of an exchange are in one lane.
func TestClientLanes(t *testing.T) {
	s := newWatchedServer(t)
	early := s.initialize("", "early")
	s.w.watch()
	both := func(lane, method string) []string {
		return []string{lane + ", request " + method, lane + ", response " + method}
	}
	one := s.initialize("token", "Claude")
	s.saw(both("client 1: Claude", "initialize")...)
	two := s.initialize("token", "Claude")
	s.saw(both("client 2: Claude", "initialize")...)
	s.list("token", one)
	s.saw(both("client 1: Claude", "tools/list")...)
	s.list("token", two)
	s.saw(both("client 2: Claude", "tools/list")...)
	for range 2 {
		s.listModern("token", "modern")
		s.saw(both("client 3: modern", "tools/list")...)
	}
	s.listModern("alice", "modern") // another principal
	s.saw(both("client 4 of alice: modern", "tools/list")...)
	s.list("", early) // a session from before the watch
	s.saw(both("client 5: early", "tools/list")...)

	// A client that comes again after its session has ended continues its lane.
	s.send("DELETE", "token", one, "")
	s.isFree("client 1: Claude")
	one = s.initialize("token", "Claude")
	s.saw(both("client 1: Claude", "initialize")...)
	s.list("token", one)
	s.saw(both("client 1: Claude", "tools/list")...)

	// No name makes a lane that looks like another.
	s.initialize("token", "a\n\x1b[2Jclient 1: Claude\u202e"+strings.Repeat("x", 100))
	s.saw(both("client 6: a client 1: Claude\\u202exxxxxxxxxxxxxxx…", "initialize")...)
}

// Clients cannot make lanes without end, and one principal cannot take the lanes of all.
func TestClientLanesAreBounded(t *testing.T) {
	s := newWatchedServer(t)
	s.w.watch()
	for range 2 * maxClientLanes {
		s.initialize("mallory", "x")
	}
	s.initialize("alice", "y")
	lanes := map[string]bool{}
	for exchanges := 0; exchanges < 2*maxClientLanes+1; { // each lane has a recorder: in any order
		page := s.w.Since(t.Context(), s.next)
		s.next = page.Next
		for _, m := range page.Messages {
			lanes[m.Lane] = true
			if strings.Contains(m.Record, `"kind":"response"`) {
				exchanges++
			}
		}
	}
	assert.Equal(t, len(lanes), maxClientLanes/2+2) // mallory's, the shared one and that of alice
	assert.Assert(t, lanes[otherClientLane])
	assert.Assert(t, len(s.w.clients.conns) <= maxClientLanes)
}
