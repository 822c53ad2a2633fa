package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// postTimeout limits the POST of a notification or response.
const postTimeout = 30 * time.Second

// Write implements [client.Transport]. It sends each message as a POST of its own, and blocks only
// until the server has accepted notifications/initialized, because nothing else may be sent before.
func (c *conn) Write(messages []byte) (int, error) {
	for line := range bytes.Lines(messages) {
		if err := c.send(bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
			return 0, err
		}
	}
	return len(messages), nil
}

// send sends one message. It owns text.
func (c *conn) send(text []byte) error {
	m, err := rpc.ParseMessage(text)
	if err != nil {
		return fmt.Errorf("the client wrote an invalid message: %w", err)
	}
	if !m.IsResponse() && !m.ID.IsZero() {
		return c.sendRequest(&m, text)
	}
	s := c.snapshot()
	switch {
	case m.IsResponse():
		if s.revision == "" {
			return nil // modern servers send no requests, so there is nothing to respond to
		}
	case m.Method == mcp.NotificationCancelled:
		return c.sendCancelled(&s, text, m.Params)
	case m.Method == mcp.NotificationInitialized:
		return c.sendInitialized(text)
	}
	return c.postAsync(&s, text, nil)
}

// sendRequest passes a request to a worker. It owns text, which m points into.
func (c *conn) sendRequest(m *rpc.Message, text []byte) error {
	r := c.newPostRequest(m, text)
	select {
	case c.requests <- r:
		return nil
	default:
	}
	if !c.startGoroutine(func() { c.worker(r) }) {
		return errClosed
	}
	return nil
}

// sendCancelled handles a notifications/cancelled of the client. For a modern server, closing the
// response stream cancels the request (2026-07-28, Streamable HTTP, "Cancellation"). A legacy
// server receives the notification if the request may have reached it, and its response is not
// waited for.
func (c *conn) sendCancelled(s *legacyState, text, params []byte) error {
	id, err := rpc.ParseID(jsonscan.Member(params, "requestId"))
	if err != nil {
		return nil
	}
	c.dropIdle()
	c.mu.Lock()
	r := c.inFlight[id]
	closeOnly := r != nil && (r.modern || !r.sent)
	c.mu.Unlock()
	switch {
	case closeOnly:
		r.cancel(context.Canceled)
		return nil
	case r == nil && s.endpoint == nil:
		// With HTTP+SSE, a request leaves inFlight before its response.
		return nil
	}
	if r != nil {
		r.cancelled.Store(true)
	}
	return c.postAsync(s, text, r)
}

// abandon cancels a request whose result the client no longer needs, without a notification.
func (c *conn) abandon(id rpc.ID) {
	c.mu.Lock()
	r := c.inFlight[id]
	c.mu.Unlock()
	if r != nil {
		r.cancel(context.Canceled)
	}
}

// postAsync posts a notification or response in a goroutine. It blocks while too many are in
// flight. The request cancelled, if not nil, ends after the POST.
func (c *conn) postAsync(s *legacyState, text []byte, cancelled *postRequest) error {
	select {
	case c.postSlots <- struct{}{}:
	case <-c.ctx.Done():
		return errClosed
	}
	started := c.startGoroutine(func() {
		defer func() { <-c.postSlots }()
		switch {
		case cancelled != nil && s.sessionLost:
			cancelled.cancel(context.Canceled)
		case cancelled != nil:
			defer cancelled.cancelAfterStream()
		}
		if s.sessionLost {
			return // the message belongs to the lost session
		}
		ctx, cancel := context.WithTimeout(c.closeCtx, postTimeout)
		defer cancel()
		if err := c.post(ctx, s, text); err != nil && c.ctx.Err() == nil {
			c.link.Warn("the server did not accept a message", slog.Any("error", err))
		}
	})
	if !started {
		<-c.postSlots
		return errClosed
	}
	return nil
}

// sendInitialized sends notifications/initialized, and then opens the GET stream.
func (c *conn) sendInitialized(text []byte) error {
	s := c.snapshot()
	ctx, cancel := context.WithTimeout(c.ctx, postTimeout)
	defer cancel()
	err := c.post(ctx, &s, text)
	switch {
	case c.ctx.Err() != nil:
		return errClosed
	case err != nil:
		// the first call will fail and return the error
		c.link.Warn("the server did not accept a message", slog.Any("error", err))
	}
	if !errors.Is(err, client.ErrSessionLost) {
		c.mu.Lock()
		c.state.sessionLost = false
		c.mu.Unlock()
	}
	c.startGetStream(&s)
	return nil
}

// post sends a message that has no response, and waits until the server accepts it.
func (c *conn) post(ctx context.Context, s *legacyState, text []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := c.request(ctx, http.MethodPost, text, s)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		c.markAccepted(s, false)
		drain(resp.Body, cancel)
		return nil
	}
	return c.responseError(resp, s)
}
