// Package inflight knows the requests of clients that servers have not answered yet, to which their
// questions and log messages belong, and the calls that outlive such a request.
package inflight

import (
	"context"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A Request is a client's request that a server has not answered yet. Legacy servers do not say
// which request a question or log message belongs to. It belongs to a client only if no other
// client has an active request.
type Request struct {
	Key    string        // identifies the client.Client that makes the request
	Conn   *server.Conn  // of the client; nil if several clients share the connection
	IsCall bool          // a question may belong to it
	Call   *Call         // nil if the client cannot be asked
	Logs   logging.Queue // log messages that arrive during the request

	requests *Requests
	sequence int // later requests have higher numbers
}

// client identifies the client: its connection, or the request itself if several clients share the
// connection.
func (r *Request) client() any {
	if r.Conn == nil {
		return r
	}
	return r.Conn
}

// Requests are the active requests of all servers. The zero value has none. They are safe for
// concurrent use.
type Requests struct {
	mu    sync.Mutex
	all   map[string]map[*Request]struct{} // by Key
	count int                              // number of requests so far
	ended chan struct{}                    // closed when a request ends; nil if nothing waits
}

// Begin records a request with this context; End removes it.
func (rs *Requests) Begin(ctx context.Context, r *Request) {
	r.requests = rs
	r.Logs.Start(ctx)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.all == nil {
		rs.all = make(map[string]map[*Request]struct{})
	}
	if rs.all[r.Key] == nil {
		rs.all[r.Key] = make(map[*Request]struct{})
	}
	rs.all[r.Key][r] = struct{}{}
	rs.count++
	r.sequence = rs.count
}

// End removes the request and blocks until its log messages have been sent. It reports whether the
// client has asked for log messages.
func (r *Request) End() (wanted bool) {
	rs := r.requests
	rs.mu.Lock()
	delete(rs.all[r.Key], r)
	if len(rs.all[r.Key]) == 0 {
		delete(rs.all, r.Key)
	}
	rs.notifyEnded()
	rs.mu.Unlock()
	return r.Logs.Stop()
}

// CallFor returns the call that a server's question belongs to, or nil if the client of the
// call cannot be asked. ok is false if the question is ambiguous. Of several calls of one legacy
// client it returns the latest.
func (rs *Requests) CallFor(key string) (f *Call, ok bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.findCall(key)
}

// findCall is CallFor for a caller that holds mu.
func (rs *Requests) findCall(key string) (f *Call, ok bool) {
	var client any
	calls, latest := 0, 0
	for r := range rs.all[key] {
		if r.Call != nil && r.Call.isAbandoned() {
			continue
		}
		if client != nil && r.client() != client {
			return nil, false
		}
		client = r.client()
		if r.IsCall {
			calls++
			if r.sequence > latest {
				f, latest = r.Call, r.sequence
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

// AwaitCall is like CallFor, but waits up to questionTimeout until the question is
// unambiguous.
func (rs *Requests) AwaitCall(ctx context.Context, key string) (f *Call,
	ok bool) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	for {
		rs.mu.Lock()
		f, ok = rs.findCall(key)
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

// notifyEnded wakes AwaitCall. The caller holds mu.
func (rs *Requests) notifyEnded() {
	if rs.ended != nil {
		close(rs.ended)
		rs.ended = nil
	}
}

// isLegacy reports whether client, as [Request] has it, is a legacy client that can be asked a
// question.
func isLegacy(client any) bool {
	conn, ok := client.(*server.Conn)
	if !ok {
		return false
	}
	can := conn.Capabilities()
	return can.Elicitation != nil || can.Sampling != nil || can.Roots != nil
}

// LogQueueFor returns the queue for a server's log message, or nil if no client wants it. busy
// reports whether there is an active request, and several whether several clients have one.
func (rs *Requests) LogQueueFor(key string, level mcp.LoggingLevel) (to *logging.Queue, busy,
	several bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var client any
	for r := range rs.all[key] {
		several = several || client != nil && r.client() != client
		client = r.client()
		if to == nil && level.AtLeast(r.Logs.Level()) {
			to = &r.Logs
		}
	}
	return to, client != nil, several
}

// Level returns the most verbose level that a client of these requests wants, or "".
func (rs *Requests) Level(key string) (level mcp.LoggingLevel) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for r := range rs.all[key] {
		level = logging.MoreVerbose(level, r.Logs.Level())
	}
	return level
}
