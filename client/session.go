package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client/internal/era"
	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A session holds the results of the handshake.
type session struct {
	revision     mcp.Revision
	features     mcp.Features
	info         mcp.Implementation
	capabilities mcp.ServerCapabilities
	instructions string
	handshake    Handshake
}

// modernSession returns the session of a server that answered server/discover.
func modernSession(revision mcp.Revision, found *mcp.DiscoverResult) *session {
	s := &session{revision: revision, capabilities: found.Capabilities,
		instructions: found.Instructions}
	s.features, _ = mcp.FeaturesOf(revision)
	var info mcp.Implementation // optional, for display only
	if _, err := found.Meta.Get(mcp.MetaServerInfo, &info); err == nil {
		s.info = info
	}
	return s
}

// legacySession checks the result of initialize (2025-11-25, Lifecycle, "Version Negotiation").
func legacySession(result []byte) (*session, error) {
	var r mcp.InitializeResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		return nil, errtext.Protocol("an invalid result of initialize: %v", err)
	}
	if mcp.EraOf(r.ProtocolVersion) != mcp.Legacy {
		return nil, errtext.Protocol(
			"the server answers initialize with revision %.100q; this client speaks %q there",
			string(r.ProtocolVersion), mcp.Supported(mcp.Legacy))
	}
	s := &session{revision: r.ProtocolVersion, info: r.ServerInfo, capabilities: r.Capabilities,
		instructions: r.Instructions}
	s.features, _ = mcp.FeaturesOf(s.revision)
	return s, nil
}

// A Handshake describes the handshake of a connection.
type Handshake struct {
	Method string // server/discover or initialize
	// from the first request to the response, including the start of the process
	Took   time.Duration
	Result json.RawMessage // as the server wrote it
}

// renewSession replaces a session that the server no longer knows (2025-11-25, Transports, "Session
// Management"), and restores the log level and the subscriptions. If several calls find the session
// lost, one of them renews it and the others wait. If that is in doubt, a ping decides.
func (c *Client) renewSession(ctx context.Context, lost *session, doubtful bool) error {
	select {
	case c.renewing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing:
		return errClosed
	}
	defer func() { <-c.renewing }()
	if c.session.Load() != lost {
		return nil
	}
	if doubtful && c.isSessionAlive(ctx) {
		return errSessionAlive
	}
	h := handshaker{c: c, preference: era.Preference{Era: mcp.Legacy, Revision: lost.revision}}
	s, err := h.run(ctx)
	h.cancelPending()
	if err == nil {
		// in the new session, a response could match another request
		c.peer.CancelInbound("the session has ended")
		s.handshake.Took = lost.handshake.Took
		err = c.begin(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("%w, and does not begin another: %w", ErrSessionLost, err)
	}
	c.background(c.resubscribe) // calls need not wait for it
	return nil
}

var errSessionAlive = errors.New("the session still exists")

// isSessionAlive reports whether the server answers a ping in the session.
func (c *Client) isSessionAlive(ctx context.Context) bool {
	pending, err := c.peer.Start(ctx, mcp.MethodPing, &call{meta: c.meta.Load()})
	if err == nil {
		err = pending.Wait(ctx, nil)
	}
	return err == nil || errors.Is(err, rpc.ErrMethodNotFound)
}

// resubscribe subscribes again to all resources after a legacy session was renewed.
func (c *Client) resubscribe() {
	ctx, cancel := c.callContext()
	defer cancel()
	defer c.assumeChanged() // last: a resource that is read after this misses no change
	var refused []error
	for uri := range c.listening.subscribed() {
		pending, err := c.peer.Start(ctx, mcp.MethodSubscribe,
			&call{params: &mcp.ResourceParams{URI: uri}, meta: c.meta.Load()})
		if err == nil {
			err = pending.Wait(ctx, nil)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if err := errors.Join(refused...); err != nil && c.ctx.Err() == nil {
		c.warn("after the server has forgotten the session, some resources cannot be subscribed to again",
			slog.Any("error", err))
	}
}
