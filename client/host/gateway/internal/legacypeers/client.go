package legacypeers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	// rootsTimeout limits a roots/list request to a client. Servers are notified of a late answer
	// as of a change.
	rootsTimeout = time.Minute
	// maxRoots limits the roots in an answer to a server, and those that are kept of a client.
	maxRoots = 10_000
	// maxRootBytes limits the encoded roots that are kept of a client.
	maxRootBytes = 256 << 10
)

// A legacyClient is a connected client of the legacy era. It can be asked for its roots and
// receives log messages outside of requests.
type legacyClient struct {
	server    *server.Server // the downstream server that it is connected to
	conn      *server.Conn
	ctx       context.Context // ends when the client disconnects
	cancel    context.CancelFunc
	logQueues map[string]*logging.Queue // by server ID
	roots     *rootsRequest             // nil before the first request
}

// A rootsRequest is a roots/list request to a client and its result, which is valid until the
// client reports a change.
type rootsRequest struct {
	done   chan struct{}
	roots  []mcp.Root // valid once done is closed
	held   int64      // bytes of the client's memory; guarded by clients.mu
	missed bool       // an answer to a server lacks them; guarded by clients.mu
}

// legacyClients are the connected clients, in order of connection.
type legacyClients struct {
	mu  sync.Mutex
	all []*legacyClient
}

// servedBy returns the clients of an upstream server: the clients of all downstream servers that
// offer it or, if it has a process for each session, the client of the session. A server with a
// connection for each user has none, because a user may have several clients.
func (cs *legacyClients) servedBy(u *Upstream, session string) (some []*legacyClient) {
	servers := u.OfferedAt()
	for _, lc := range cs.all {
		if slices.Contains(servers, lc.server) &&
			(u.Shared || session != "" && lc.conn.Session() == session) {
			some = append(some, lc)
		}
	}
	return some
}

// end stops all work for the client.
func (lc *legacyClient) end() {
	lc.cancel()
	for _, q := range lc.logQueues {
		q.Stop()
	}
}

// level returns the most verbose level that a client of a server wants, or "".
func (cs *legacyClients) level(u *Upstream, session string) (level mcp.LoggingLevel) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, lc := range cs.servedBy(u, session) {
		level = logging.MoreVerbose(level, lc.conn.LogLevel())
	}
	return level
}

// logQueuesFor returns the queues of the clients that want a log message that belongs to no
// request.
func (cs *legacyClients) logQueuesFor(u *Upstream, session string,
	level mcp.LoggingLevel) (to []*logging.Queue) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, lc := range cs.servedBy(u, session) {
		if !level.AtLeast(lc.conn.LogLevel()) {
			continue
		}
		q := lc.logQueues[u.ID]
		if q == nil {
			q = &logging.Queue{Server: u.ID, Send: lc.conn.Log}
			q.Start(lc.ctx)
			lc.logQueues[u.ID] = q
		}
		to = append(to, q)
	}
	return to
}

// keepRoots returns a copy of the client's roots, which shares no memory with the message that they
// came in, and the bytes that the copy holds of the client's memory.
func (lc *legacyClient) keepRoots(roots []mcp.Root) (kept []mcp.Root, held int64, err error) {
	const overhead = 256 // about the bytes of a Root without its text
	text, err := mcp.Marshal(roots)
	switch {
	case err != nil:
		return nil, 0, err
	case len(roots) > maxRoots || len(text) > maxRootBytes:
		return nil, 0, fmt.Errorf("%d roots of %d bytes are more than the %d of %d that are kept",
			len(roots), len(text), maxRoots, maxRootBytes)
	case len(roots) == 0:
		return roots, 0, nil
	}
	held = int64(len(text) + overhead*len(roots))
	if err := lc.conn.Retain(held); err != nil {
		return nil, 0, err
	}
	return kept, held, mcp.Unmarshal(text, &kept)
}

// release gives back the memory of a client's roots. The caller holds clients.mu.
func (lc *legacyClient) release(r *rootsRequest) {
	if r != nil && r.held > 0 {
		_ = lc.conn.Retain(-r.held) // fails only after the connection
		r.held = 0
	}
}
