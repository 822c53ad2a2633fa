package gateway

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An activeRequest is a client's request that is under way at a server. Legacy servers do not say
// which request a question or log message belongs to: it belongs to a client only if no other
// client has a request there.
type activeRequest struct {
	g       *Gateway
	address string
	// the client's connection, or the request itself if clients share the connection
	client   any
	sequence int           // position among all requests so far
	isCall   bool          // a question may belong to it
	inflight *inflightCall // nil if the client cannot be asked
	logs     logQueue      // log messages that arrive during the request
}

// activeRequests are the requests that are under way.
type activeRequests struct {
	mu    sync.Mutex
	all   map[string]map[*activeRequest]struct{} // by clientKey
	count int                                    // of all requests so far
	// closed when a request ends; nil if nothing waits for that
	ended chan struct{}
}

// beginRequest records a request; its end method removes it. The log messages of an in-flight call
// go to its current request.
func (g *Gateway) beginRequest(ctx context.Context, u *target, f *inflightCall,
	call bool) *activeRequest {
	v := &activeRequest{g: g, address: u.clientKey(), client: u.conn, isCall: call, inflight: f,
		logs: logQueue{server: u.id, send: g.sendLog}}
	if u.isStateless() {
		v.client = v
	}
	v.logs.start(ctx)
	vs := &g.requests
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.all == nil {
		vs.all = make(map[string]map[*activeRequest]struct{})
	}
	if vs.all[v.address] == nil {
		vs.all[v.address] = make(map[*activeRequest]struct{})
	}
	vs.all[v.address][v] = struct{}{}
	vs.count++
	v.sequence = vs.count
	return v
}

// sendLog sends a log message to the client of a request while the gateway is open.
func (g *Gateway) sendLog(ctx context.Context, message mcp.LoggingMessageParams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return server.Log(ctx, message)
}

// end removes the request and blocks until its client has received its log messages.
func (v *activeRequest) end() {
	vs := &v.g.requests
	vs.mu.Lock()
	delete(vs.all[v.address], v)
	if len(vs.all[v.address]) == 0 {
		delete(vs.all, v.address)
	}
	vs.notifyEnded()
	vs.mu.Unlock()
	if v.logs.stop() {
		v.g.wakeLegacyServers()
	}
}

// inflightFor returns the call that a server's question belongs to, or nil if its client cannot be
// asked. ok is false if the question is ambiguous. For a legacy client, the latest of its own calls
// is used.
func (vs *activeRequests) inflightFor(address string) (f *inflightCall, ok bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.findInflight(address)
}

// findInflight is inflightFor for a caller that holds mu.
func (vs *activeRequests) findInflight(address string) (f *inflightCall, ok bool) {
	var who any
	calls, latest := 0, 0
	for v := range vs.all[address] {
		if v.inflight != nil && v.inflight.isAbandoned() {
			continue
		}
		if who != nil && v.client != who {
			return nil, false
		}
		who = v.client
		if v.isCall {
			calls++
			if v.sequence > latest {
				f, latest = v.inflight, v.sequence
			}
		}
	}
	if calls == 0 || calls > 1 && !isLegacy(who) {
		return nil, false
	}
	return f, true
}

// questionTimeout is how long an ambiguous question waits for other calls to end. The call that it
// belongs to cannot end before it is answered.
const questionTimeout = 5 * time.Second

// awaitInflight is like inflightFor, but waits up to questionTimeout until the question is
// unambiguous.
func (vs *activeRequests) awaitInflight(ctx context.Context, address string) (f *inflightCall,
	ok bool) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	for {
		vs.mu.Lock()
		f, ok = vs.findInflight(address)
		if ok || len(vs.all[address]) == 0 {
			vs.mu.Unlock()
			return f, ok
		}
		if vs.ended == nil {
			vs.ended = make(chan struct{})
		}
		fewer := vs.ended
		vs.mu.Unlock()
		select {
		case <-fewer:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// notifyEnded wakes awaitInflight. The caller holds mu.
func (vs *activeRequests) notifyEnded() {
	if vs.ended != nil {
		close(vs.ended)
		vs.ended = nil
	}
}

// isLegacy reports whether client is a legacy client that can be asked a question.
func isLegacy(who any) bool {
	conn, ok := who.(*server.Conn)
	if !ok {
		return false
	}
	can := conn.Capabilities()
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil
}

// logQueueFor returns the queue for a server's log message, or nil if no client wants it. busy is
// false if no request is under way; several says that several clients have requests under way.
func (vs *activeRequests) logQueueFor(address string, level mcp.LoggingLevel) (to *logQueue, busy,
	several bool) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	var who any
	for v := range vs.all[address] {
		several = several || who != nil && v.client != who
		who = v.client
		if to == nil && level.AtLeast(v.logs.level()) {
			to = &v.logs
		}
	}
	return to, who != nil, several
}

// level returns the most verbose level that the clients of these requests want.
func (vs *activeRequests) level(address string) (level mcp.LoggingLevel) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for v := range vs.all[address] {
		level = moreVerbose(level, v.logs.level())
	}
	return level
}

// use calls f with a server's client on behalf of the client of the request in ctx. isCall says
// that a question of the server may belong to it.
func (g *Gateway) use(ctx context.Context, u *target, call bool,
	f func(*client.Client) error) error {
	if u.perSession && u.session == "" {
		return fmt.Errorf("server %q %w", u.id, ErrNoSession)
	}
	defer g.enterSession(u)()
	v := g.beginRequest(ctx, u, nil, call)
	defer v.end()
	return g.manager.Use(ctx, u.id, u.session, u.idempotent, func(c *client.Client) error {
		g.raiseLevel(ctx, c, &v.logs)
		return f(c)
	})
}
