package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
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

// A rootsRequest is a roots/list request to a client and its result, which is valid until the
// client reports a change.
type rootsRequest struct {
	done   chan struct{}
	roots  []mcp.Root // valid once done is closed
	held   int64      // bytes of the client's memory; guarded by clients.mu
	missed bool       // an answer to a server lacks them; guarded by clients.mu
}

// setRootsHandler sets the handler that answers roots/list with the roots of the gateway's clients.
func (u *upstreamServer) setRootsHandler(o *client.Options, session string) {
	if o.Roots != nil || o.OnRoots != nil {
		return
	}
	o.OnRoots = func(ctx context.Context) ([]mcp.Root, error) {
		f, ok := u.g.requests.CallFor((&target{id: u.id, session: session}).clientKey())
		if ok && f == nil {
			return nil, nil
		}
		if ok {
			raw, err := f.Ask(ctx, mcp.MethodListRoots, struct{}{})
			var result mcp.ListRootsResult
			switch {
			case err == nil:
				err = mcp.Unmarshal(raw, &result)
				return result.Roots, err
			case errors.Is(err, inflight.ErrCannotAsk):
				return nil, nil
			case err != inflight.ErrCallEnded:
				return nil, err
			}
		}
		return u.g.rootsOf(ctx, u, session), nil
	}
}

// rootsOf returns the roots of all clients of a server, without duplicates.
func (g *Gateway) rootsOf(ctx context.Context, u *upstreamServer, session string) (all []mcp.Root) {
	ctx, cancel := context.WithTimeout(ctx, inflight.RootsWait)
	defer cancel()
	cs := &g.clients
	cs.mu.Lock()
	var requests []*rootsRequest
	for _, lc := range cs.servedBy(u, session) {
		if lc.conn.Capabilities().Roots != nil {
			requests = append(requests, g.requestRoots(lc))
		}
	}
	cs.mu.Unlock()
	seen := make(map[string]bool)
	for _, r := range requests {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		cs.mu.Lock()
		var roots []mcp.Root
		select {
		case <-r.done:
			roots = r.roots
		default:
			r.missed = true
		}
		cs.mu.Unlock()
		for _, root := range roots {
			if !seen[root.URI] && len(all) < maxRoots {
				seen[root.URI] = true
				all = append(all, root)
			}
		}
	}
	return all
}

// requestRoots asks a client for its roots, or returns the earlier request. The caller holds
// clients.mu.
func (g *Gateway) requestRoots(lc *legacyClient) *rootsRequest {
	if lc.roots != nil {
		return lc.roots
	}
	r := &rootsRequest{done: make(chan struct{})}
	lc.roots = r
	if !g.background(func() {
		ctx, cancel := context.WithTimeout(lc.ctx, rootsTimeout)
		defer cancel()
		roots, err := lc.conn.Roots(ctx)
		held := int64(0)
		if err == nil {
			roots, held, err = lc.keepRoots(roots)
		}
		if err != nil && lc.ctx.Err() == nil {
			g.o.Logger.Warn("gateway: a client does not return its roots", slog.Any("error", err))
		}
		g.clients.mu.Lock()
		defer g.clients.mu.Unlock()
		r.roots, r.held = roots, held
		if lc.roots != r { // the client has reported a change, or has disconnected
			lc.release(r)
		}
		close(r.done)
		if r.missed && len(roots) > 0 {
			g.rootsChanged(lc)
		}
	}) {
		close(r.done)
	}
	return r
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

// rootsChanged notifies the servers of a client that its roots have changed.
func (g *Gateway) rootsChanged(lc *legacyClient) {
	g.notifyLegacyServers(func(l *legacyServer) bool {
		return l.upstream.sharing == host.Shared || l.session == lc.conn.Session()
	})
}

// clientsChanged notifies all servers that their clients may have changed.
func (g *Gateway) clientsChanged() {
	g.notifyLegacyServers(func(*legacyServer) bool { return true })
}

// notifyLegacyServers makes the selected servers check the roots and their log level.
func (g *Gateway) notifyLegacyServers(some func(*legacyServer) bool) {
	ls := &g.legacyServers
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.roots++
	for _, l := range ls.all {
		if some(l) {
			l.roots.Store(true)
			l.notify()
		}
	}
}

// noRoots is the answer to roots/list on behalf of a client without roots.
var noRoots = json.RawMessage(`{"roots":[]}`)

// withoutRoots returns the questions that a client without roots has to answer, and the keys of the
// roots/list requests that the gateway answers for it.
func withoutRoots(ctx context.Context, questions mcp.InputRequests) (rest mcp.InputRequests,
	answered []string) {
	if server.CapabilitiesFrom(ctx).Roots != nil {
		return questions, nil
	}
	rest = make(mcp.InputRequests)
	for key, q := range questions {
		if q.Method == mcp.MethodListRoots {
			answered = append(answered, key)
		} else {
			rest[key] = q
		}
	}
	return rest, answered
}

// addEmptyRoots answers the requests with these keys with noRoots.
func addEmptyRoots(answers *mcp.InputAnswers, keys []string) {
	for _, key := range keys {
		if answers.InputResponses == nil {
			answers.InputResponses = make(mcp.InputResponses)
		}
		answers.InputResponses[key] = noRoots
	}
}
