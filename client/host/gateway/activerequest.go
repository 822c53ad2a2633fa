package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An activeRequest is a client's request that a server has not answered yet. Legacy servers do not
// say which request a question or log message belongs to. It belongs to a client only if no other
// client has an active request.
type activeRequest struct {
	g   *Gateway
	key string
	// client is the *server.Conn, or the *activeRequest itself if several clients share the
	// connection.
	client   any
	sequence int            // later requests have higher numbers
	isCall   bool           // a question may belong to it
	inflight *inflightCall  // nil if the client cannot be asked
	logs     *logging.Queue // log messages that arrive during the request
}

// activeRequests are the active requests of all servers.
type activeRequests struct {
	mu    sync.Mutex
	all   map[string]map[*activeRequest]struct{} // by clientKey
	count int                                    // number of requests so far
	ended chan struct{}                          // closed when a request ends; nil if nothing waits
}

// beginRequest records a request; its end method removes it. f is the in-flight call of the
// request, or nil.
func (g *Gateway) beginRequest(ctx context.Context, t *target, f *inflightCall,
	isCall bool) *activeRequest {
	r := &activeRequest{g: g, key: t.clientKey(), client: t.conn, isCall: isCall, inflight: f,
		logs: logging.NewQueue(t.id, g.sendLog)}
	if t.isStateless() {
		r.client = r
	}
	r.logs.Start(ctx)
	rs := &g.requests
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.all == nil {
		rs.all = make(map[string]map[*activeRequest]struct{})
	}
	if rs.all[r.key] == nil {
		rs.all[r.key] = make(map[*activeRequest]struct{})
	}
	rs.all[r.key][r] = struct{}{}
	rs.count++
	r.sequence = rs.count
	return r
}

// sendLog sends a log message to the client of a request while the gateway is open.
func (g *Gateway) sendLog(ctx context.Context, message mcp.LoggingMessageParams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return server.Log(ctx, message)
}

// end removes the request and blocks until its log messages have been sent.
func (r *activeRequest) end() {
	rs := &r.g.requests
	rs.mu.Lock()
	delete(rs.all[r.key], r)
	if len(rs.all[r.key]) == 0 {
		delete(rs.all, r.key)
	}
	rs.notifyEnded()
	rs.mu.Unlock()
	if r.logs.Stop() {
		r.g.wakeLegacyServers()
	}
}

// inflightFor returns the call that a server's question belongs to, or nil if the client of the
// call cannot be asked. ok is false if the question is ambiguous. Of several calls of one legacy
// client it returns the latest.
func (rs *activeRequests) inflightFor(key string) (f *inflightCall, ok bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.findInflight(key)
}

// findInflight is inflightFor for a caller that holds mu.
func (rs *activeRequests) findInflight(key string) (f *inflightCall, ok bool) {
	var client any
	calls, latest := 0, 0
	for r := range rs.all[key] {
		if r.inflight != nil && r.inflight.isAbandoned() {
			continue
		}
		if client != nil && r.client != client {
			return nil, false
		}
		client = r.client
		if r.isCall {
			calls++
			if r.sequence > latest {
				f, latest = r.inflight, r.sequence
			}
		}
	}
	if calls == 0 || calls > 1 && !isLegacy(client) {
		return nil, false
	}
	return f, true
}

// questionTimeout is how long an ambiguous question waits for other calls to end. The call that it
// belongs to cannot end before it is answered.
const questionTimeout = 5 * time.Second

// awaitInflight is like inflightFor, but waits up to questionTimeout until the question is
// unambiguous.
func (rs *activeRequests) awaitInflight(ctx context.Context, key string) (f *inflightCall,
	ok bool) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	for {
		rs.mu.Lock()
		f, ok = rs.findInflight(key)
		if ok || len(rs.all[key]) == 0 {
			rs.mu.Unlock()
			return f, ok
		}
		if rs.ended == nil {
			rs.ended = make(chan struct{})
		}
		ended := rs.ended
		rs.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// notifyEnded wakes awaitInflight. The caller holds mu.
func (rs *activeRequests) notifyEnded() {
	if rs.ended != nil {
		close(rs.ended)
		rs.ended = nil
	}
}

// isLegacy reports whether client, as in activeRequest, is a legacy client that can be asked a
// question.
func isLegacy(client any) bool {
	conn, ok := client.(*server.Conn)
	if !ok {
		return false
	}
	can := conn.Capabilities()
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil
}

// logQueueFor returns the queue for a server's log message, or nil if no client wants it. busy
// reports whether there is an active request, and several whether several clients have one.
func (rs *activeRequests) logQueueFor(key string, level mcp.LoggingLevel) (to *logging.Queue, busy,
	several bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var client any
	for r := range rs.all[key] {
		several = several || client != nil && r.client != client
		client = r.client
		if to == nil && level.AtLeast(r.logs.Level()) {
			to = r.logs
		}
	}
	return to, client != nil, several
}

// level returns the most verbose level that a client of these requests wants, or "".
func (rs *activeRequests) level(key string) (level mcp.LoggingLevel) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for r := range rs.all[key] {
		level = logging.MoreVerbose(level, r.logs.Level())
	}
	return level
}

// use calls f with the client of a server on behalf of the request in ctx. isCall says that a
// question of the server may belong to the request.
func (g *Gateway) use(ctx context.Context, t *target, isCall bool,
	f func(*client.Client) error) error {
	if t.perSession && t.session == "" {
		return fmt.Errorf("server %q %w", t.id, ErrNoSession)
	}
	defer t.enterSession()()
	r := g.beginRequest(ctx, t, nil, isCall)
	defer r.end()
	return g.manager.Use(ctx, t.id, t.session, t.idempotent, func(c *client.Client) error {
		g.raiseLevel(ctx, c, r.logs)
		return f(c)
	})
}
