package streamable

import (
	"context"
	"net/http"
	"net/url"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// legacyState is the state of a connection to a legacy server. The modern protocol is stateless.
type legacyState struct {
	// revision is the negotiated revision, "" before initialize and in the modern era.
	revision  string
	sessionID string // Mcp-Session-Id; "" if there is none
	// sessionLost means that the server no longer knows the session, and requests wait for a new
	// one.
	sessionLost bool
	accepted    bool // the server has accepted a message of the session, after initialize
	// answered means that the server has accepted a request of the session, and that no attempt to
	// begin another one has ended since then. While one goes on, requests that are refused wait for
	// its end.
	answered      bool
	endpoint      *url.URL           // the POST URL of HTTP+SSE; nil otherwise
	stopGetStream context.CancelFunc // closes the GET stream; nil if there is none
}

// endSession deletes the session if there is one (2025-11-25, Transports, "Session Management"). A
// server may refuse that.
func (c *conn) endSession() {
	s := c.snapshot()
	if s.sessionID == "" || s.sessionLost {
		return
	}
	req := c.request(c.closeCtx, http.MethodDelete, nil, &s)
	if resp, err := c.httpClient.Do(req); err == nil {
		drain(resp.Body, c.closeCancel)
		_ = resp.Body.Close()
	}
}

// snapshot returns the current state.
func (c *conn) snapshot() legacyState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// markSessionLost records that the server no longer knows a session, unless it has been replaced.
func (c *conn) markSessionLost(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.sessionID == session {
		c.state.sessionLost = true
	}
}

// markAccepted records that the server has accepted a message of a session.
func (c *conn) markAccepted(s *legacyState, isRequest bool) {
	if s.sessionID == "" || s.accepted && (s.answered || !isRequest) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.sessionID == s.sessionID {
		c.state.accepted, c.state.answered = true, c.state.answered || isRequest
	}
}

// markUnanswered records that an attempt to begin a session in place of this one has failed.
func (c *conn) markUnanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.answered = false
}

// saveSession records the revision and session of the response to initialize, before the client
// receives it. A session that replaces another takes requests only after notifications/initialized.
func (r *postRequest) saveSession(m *rpc.Message, s *legacyState) {
	revision, _ := jsonscan.Text(jsonscan.Member(m.Result, "protocolVersion"))
	if mcp.EraOf(mcp.Revision(revision)) != mcp.Legacy {
		r.c.markUnanswered() // an error, or an invalid result
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	state := &r.c.state
	state.sessionLost = state.sessionLost || state.sessionID != ""
	state.revision, state.sessionID = revision, s.sessionID
	state.accepted, state.answered = false, false
}
