package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// silencePatience is how long the probe may stay unanswered before initialize is sent as well. Most legacy servers answer what they do not
	// know with an error; some ignore whatever comes before initialize.
	probeTimeout = 5 * time.Second
	// heardPatience is the same once the server has sent anything: it runs, so it will not be long.
	activeProbeTimeout = time.Second
	// maxProbes is how often the server is asked while it names another revision each time, or the one that it has just refused: of several behind one address
	// not all may be of the same age.
	maxProbes = 3
)

// Connect does the handshake with the server that a transport leads to, such as that of package client/streamable, or [Stream]. It owns the transport from then on,
// also when it fails. See [Options.Connect].
func Connect(ctx context.Context, t Transport) (*Client, error) { return Options{}.Connect(ctx, t) }

// Connect is [Connect] with options. It blocks until the server has answered, for Options.StartTimeout at most, or until ctx ends; ctx has no
// influence afterwards. The error is a [*StartError].
func (o Options) Connect(ctx context.Context, t Transport) (*Client, error) {
	o, err := o.withDefaults("server")
	if err != nil {
		_ = t.Close()
		return nil, o.startError(err, "")
	}
	ctx, cancel := o.startContext(ctx)
	defer cancel()
	c, err := o.newClient(t, nil)
	if err != nil {
		return nil, o.startError(err, "")
	}
	if err := c.open(ctx, o.eraPreference()); err != nil {
		_ = c.Close()
		return nil, o.startError(err, "")
	}
	return c, nil
}

func (o Options) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.StartTimeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.StartTimeout)
}

// open settles the era and does the handshake. When it has returned nil, the client is ready for use.
func (c *Client) open(ctx context.Context, w eraPreference) error {
	began := time.Now()
	h := handshaker{c: c, preference: w}
	s, err := h.run(ctx)
	h.cancelPending()
	if err != nil {
		return err
	}
	s.handshake.Took = time.Since(began)
	if err := c.begin(ctx, s); err != nil {
		return err
	}
	if c.proc != nil {
		c.proc.MarkReady()
	}
	c.watchLists()
	return nil
}

// begin makes what the handshake has agreed on that which holds.
func (c *Client) begin(ctx context.Context, s *session) error {
	c.session.Store(s)
	c.meta.Store(newRequestMeta(s.revision, c.o.LogLevel, &c.o))
	if s.features.Era == mcp.Legacy {
		c.peer.AllowBatch(s.features.Batch)
		if err := c.peer.Notify(ctx, mcp.NotificationInitialized, nil); err != nil {
			return c.connectionError(err)
		}
		c.askForLogs(ctx)
	}
	return nil
}

// An opening is a handshake under way: up to two requests, whose answers are waited for at once.
type handshaker struct {
	c     *Client
	preference  eraPreference
	probedRevision mcp.Revision // by the probe
	probeCount  int          // how many probes were sent

	probe, initialize handshakeRequest
	refused           error // the answer to initialize, while that to the probe is still to come
}

// sent is a request of the handshake; the zero value is none.
type handshakeRequest struct {
	*rpc.Pending
	method string
	at     time.Time
}

func (s handshakeRequest) done() <-chan struct{} {
	if s.Pending == nil {
		return nil
	}
	return s.Done()
}

// take returns the answer and makes s none.
func (s *handshakeRequest) take() (raw json.RawMessage, err error) {
	err = s.Wait(context.Background(), &raw)
	*s = handshakeRequest{}
	return raw, err
}

func (h *handshaker) run(ctx context.Context) (*session, error) {
	patience := time.NewTimer(probeTimeout)
	defer patience.Stop()
	heard := h.c.link.heard
	var err error
	if h.preference.era == mcp.Legacy {
		err = h.sendInitialize(ctx, h.preference.legacy().revision)
	} else {
		h.probedRevision = mcp.LatestModern
		if mcp.EraOf(h.preference.revision) == mcp.Modern {
			h.probedRevision = h.preference.revision
		}
		err = h.sendProbe(ctx)
	}
	for err == nil {
		select {
		case <-h.probe.done():
			raw, answer := h.probe.take()
			v := classifyProbe(raw, answer, h.probedRevision, h.preference)
			switch {
			case v.err != nil:
				err = v.err
			case v.discovered != nil:
				s := modernSession(v.revision, v.discovered)
				s.handshake = Handshake{Method: mcp.MethodDiscover, Result: raw}
				return s, nil
			case mcp.EraOf(v.revision) == mcp.Modern && h.probeCount == maxProbes:
				err = protocolError("the server refuses revision %s and offers %s", h.probedRevision, v.revision)
			case mcp.EraOf(v.revision) == mcp.Modern:
				h.probedRevision = v.revision
				err = h.sendProbe(ctx)
			case h.refused != nil:
				err = h.refused
			case h.initialize.Pending == nil:
				err = h.sendInitialize(ctx, v.revision)
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
			if h.probe.Pending == nil {
				err = answer
				break
			}
			// A modern server that has yet to answer the probe refuses initialize: it does not know it.
			h.refused = answer
			patience.Reset(probeTimeout)
		case <-heard:
			heard = nil
			if h.initialize.Pending == nil && h.refused == nil {
				patience.Reset(activeProbeTimeout)
			}
		case <-patience.C:
			switch {
			case h.refused != nil:
				err = h.refused
			case h.preference.era == 0 && h.initialize.Pending == nil:
				err = h.sendInitialize(ctx, h.preference.legacy().revision)
			}
		case <-ctx.Done():
			err = h.timeoutError(ctx)
		}
	}
	err = h.c.connectionError(err)
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
	params := &mcp.InitializeParams{ProtocolVersion: revision, Capabilities: h.c.o.Capabilities(), ClientInfo: h.c.o.Info}
	raw, err := mcp.Marshal(params)
	if err != nil {
		return err
	}
	return h.send(ctx, &h.initialize, mcp.MethodInitialize, json.RawMessage(raw))
}

func (h *handshaker) send(ctx context.Context, s *handshakeRequest, method string, params any) (err error) {
	s.method, s.at = method, time.Now()
	s.Pending, err = h.c.peer.Start(ctx, method, params)
	return err
}

// forget gives up what is not answered. Nothing is sent for it, see [Client.cancellation].
func (h *handshaker) cancelPending() {
	for _, s := range []handshakeRequest{h.probe, h.initialize} {
		if s.Pending != nil {
			s.Cancel(nil)
		}
	}
}

// expired is the error when the time for the start has run out, or the caller has lost patience.
func (h *handshaker) timeoutError(ctx context.Context) error {
	if ctx.Err() != context.DeadlineExceeded {
		return context.Cause(ctx)
	}
	var waiting []string
	var since time.Duration
	for _, s := range []handshakeRequest{h.probe, h.initialize} {
		if s.Pending != nil {
			waiting = append(waiting, s.method)
			since = max(since, time.Since(s.at))
		}
	}
	return &TimeoutError{Waiting: strings.Join(waiting, " and "), After: since, Silence: h.c.link.silence()}
}
