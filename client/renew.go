package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// renew begins a session in place of one that the server has forgotten (2025-11-25, Transports, "Session Management"), and asks the server again for what it was
// asked for in that. Many calls may find out at once; one of them does it, and the others wait.
func (c *Client) renewSession(ctx context.Context, lost *session) error {
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
	h := handshaker{c: c, preference: eraPreference{mcp.Legacy, lost.revision}}
	s, err := h.run(ctx)
	h.cancelPending()
	if err == nil {
		c.peer.CancelInbound("the session has ended") // in the next, an answer could be taken for that to another question
		s.handshake.Took = lost.handshake.Took
		err = c.begin(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("%w, and does not begin another: %w", ErrSessionLost, err)
	}
	c.background(c.resubscribe) // what calls need not wait for
	return nil
}

// resubscribe asks a legacy server again to tell of the resources that are subscribed to.
func (c *Client) resubscribe() {
	ctx, cancel := c.callContext()
	defer cancel()
	defer c.assumeChanged() // only now: who then looks again misses nothing that changes after that
	var refused []error
	for uri := range c.listening.subscribed() {
		pending, err := c.peer.Start(ctx, mcp.MethodSubscribe, &call{params: &mcp.SubscribeParams{URI: uri}, meta: c.meta.Load()})
		if err == nil {
			err = pending.Wait(ctx, nil)
		}
		if err != nil {
			refused = append(refused, err)
		}
	}
	if err := errors.Join(refused...); err != nil && c.ctx.Err() == nil {
		c.warn("after the server has forgotten the session, it does not tell any more of the changes of all resources", slog.Any("error", err))
	}
}
