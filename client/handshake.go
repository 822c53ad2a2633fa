package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/internal/era"
	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// probeTimeout is how long the probe may stay unanswered before initialize is sent as well.
	// Most legacy servers reject an unknown method, but some ignore every message before
	// initialize.
	probeTimeout = 5 * time.Second
	// activeProbeTimeout replaces probeTimeout once the server has sent anything, as it is running
	// then.
	activeProbeTimeout = time.Second
	// maxProbes limits the probes if the server names another revision each time, or the one that
	// it has just refused. The processes behind one address may differ in their versions.
	maxProbes = 3
	// maxHandshake is the size in bytes of the largest result of the handshake, which the client
	// keeps.
	maxHandshake = 4 << 20
)

// A handshaker does one handshake: up to two requests that are in flight at the same time.
type handshaker struct {
	c              *Client
	preference     era.Preference
	probedRevision mcp.Revision // the revision of the last probe
	probeCount     int          // number of probes sent

	probe, initialize handshakeRequest
	refused           error // the error of initialize, while the probe is still in flight
}

// A handshakeRequest is a request of the handshake. Its zero value is no request.
type handshakeRequest struct {
	*rpc.Call
	method string
	at     time.Time
}

func (s handshakeRequest) done() <-chan struct{} {
	if s.Call == nil {
		return nil
	}
	return s.Done()
}

// take returns the response and resets s.
func (s *handshakeRequest) take() (raw json.RawMessage, err error) {
	err = s.Wait(context.Background(), &raw)
	if len(raw) > maxHandshake {
		raw, err = nil, &tooLargeHandshake{s.method, len(raw)}
	}
	*s = handshakeRequest{}
	return raw, err
}

// A tooLargeHandshake is the error of a result that is larger than maxHandshake.
type tooLargeHandshake struct {
	method string
	size   int
}

func (e *tooLargeHandshake) Error() string {
	return fmt.Sprintf("the result of %s has %d bytes, more than the %d that are kept", e.method,
		e.size, maxHandshake)
}

func (h *handshaker) run(ctx context.Context) (*session, error) {
	patience := time.NewTimer(probeTimeout)
	defer patience.Stop()
	received := h.c.activity.began
	var err error
	if h.preference.Era == mcp.Legacy {
		err = h.sendInitialize(ctx, h.preference.Legacy().Revision)
	} else {
		h.probedRevision = mcp.LatestModern
		if mcp.EraOf(h.preference.Revision) == mcp.Modern {
			h.probedRevision = h.preference.Revision
		}
		err = h.sendProbe(ctx)
	}
	for err == nil {
		select {
		case <-h.probe.done():
			raw, answer := h.probe.take()
			v := era.Classify(raw, answer, h.probedRevision, h.preference)
			switch {
			case v.Err != nil:
				err = v.Err
			case v.Discovered != nil:
				s := modernSession(v.Revision, v.Discovered)
				s.handshake = Handshake{Method: mcp.MethodDiscover, Result: raw}
				return s, nil
			case mcp.EraOf(v.Revision) == mcp.Modern && h.probeCount == maxProbes:
				err = errtext.Protocol("the server refuses revision %s and offers %s",
					h.probedRevision, v.Revision)
			case mcp.EraOf(v.Revision) == mcp.Modern:
				h.probedRevision = v.Revision
				err = h.sendProbe(ctx)
			case h.refused != nil:
				err = h.refused
			case h.initialize.Call == nil:
				err = h.sendInitialize(ctx, v.Revision)
			}
		case <-h.initialize.done():
			raw, answer := h.initialize.take()
			if answer == nil {
				s, err := legacySession(raw)
				if err == nil {
					s.handshake = Handshake{Method: mcp.MethodInitialize, Result: raw}
				}
				return s, err
			}
			if h.probe.Call == nil {
				err = answer
			} else { // a modern server rejects initialize, and may still answer the probe
				h.refused = answer
				patience.Reset(probeTimeout)
			}
		case <-received:
			received = nil
			if h.initialize.Call == nil && h.refused == nil {
				patience.Reset(activeProbeTimeout)
			}
		case <-patience.C:
			switch {
			case h.refused != nil:
				err = h.refused
			case h.preference.Era == 0 && h.initialize.Call == nil:
				err = h.sendInitialize(ctx, h.preference.Legacy().Revision)
			}
		case <-ctx.Done():
			err = h.timeoutError(ctx)
		}
	}
	err = h.c.connectionError(ctx, err)
	if lost, ok := errors.AsType[*LostError](err); ok {
		lost.early = true
	}
	return nil, err
}

func (h *handshaker) sendProbe(ctx context.Context) error {
	h.probeCount++
	params := &call{meta: newRequestMeta(h.probedRevision, "", &h.c.o)}
	return h.send(ctx, &h.probe, mcp.MethodDiscover, params)
}

func (h *handshaker) sendInitialize(ctx context.Context, revision mcp.Revision) error {
	params := &mcp.InitializeParams{ProtocolVersion: revision, Capabilities: h.c.o.Capabilities(),
		ClientInfo: h.c.o.Info}
	raw, err := mcp.Marshal(params)
	if err != nil {
		return err
	}
	return h.send(ctx, &h.initialize, mcp.MethodInitialize, json.RawMessage(raw))
}

func (h *handshaker) send(ctx context.Context, s *handshakeRequest, method string,
	params any) (err error) {
	s.method, s.at = method, time.Now()
	s.Call, err = h.c.peer.Start(ctx, method, params)
	return err
}

// cancelPending drops the requests in flight. It sends nothing; see [Link.cancellation].
func (h *handshaker) cancelPending() {
	for _, s := range []handshakeRequest{h.probe, h.initialize} {
		if s.Call != nil {
			h.c.cancelled.Cancel(s.method, s.Call, nil)
		}
	}
}

// timeoutError returns the error of a handshake whose context has ended.
func (h *handshaker) timeoutError(ctx context.Context) error {
	if ctx.Err() != context.DeadlineExceeded {
		return context.Cause(ctx)
	}
	var waiting []string
	var since time.Duration
	for _, s := range []handshakeRequest{h.probe, h.initialize} {
		if s.Call != nil {
			waiting = append(waiting, s.method)
			since = max(since, time.Since(s.at))
		}
	}
	return &TimeoutError{Waiting: strings.Join(waiting, " and "), After: since,
		Silence: h.c.activity.silence(), Unmatched: h.c.Stats().Unmatched}
}

// begin stores the session and sends what a legacy server expects after the handshake.
func (c *Client) begin(ctx context.Context, s *session) error {
	c.session.Store(s)
	c.meta.Store(newRequestMeta(s.revision, c.o.LogLevel, &c.o))
	if s.features.Era == mcp.Legacy {
		c.peer.AllowBatch(s.features.Batch)
		if err := c.notify(ctx, mcp.NotificationInitialized, nil); err != nil {
			return c.connectionError(ctx, err)
		}
		c.askForLogs(ctx)
	}
	return nil
}

// askForLogs sends the log level to a legacy server that declares logging. It returns after the
// request was sent, so that a later [Client.SetLogLevel] takes effect.
func (c *Client) askForLogs(ctx context.Context) {
	level := *c.level.Load()
	if level == "" || c.session.Load().capabilities.Logging == nil {
		return
	}
	pending, err := c.peer.Start(ctx, mcp.MethodSetLevel,
		&call{params: &mcp.SetLevelParams{Level: level}, meta: c.meta.Load()})
	c.background(func() {
		if err == nil {
			limited, cancel := c.callContext()
			defer cancel()
			err = pending.Wait(limited, nil)
		}
		if err != nil && !errors.Is(err, rpc.ErrClosed) && c.ctx.Err() == nil {
			c.warn("the server refuses the log level", slog.Any("error", err))
		}
	})
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
	for uri := range c.listening.Subscribed() {
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
