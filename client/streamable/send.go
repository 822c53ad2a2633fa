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

// postTimeout is how long a message that gets no answer may take to be accepted.
const postTimeout = 30 * time.Second

// Write implements [client.Transport]: each message becomes a request of its own. It blocks only while notifications/initialized is being accepted, as nothing
// else may be sent before.
func (c *Conn) Write(messages []byte) (int, error) {
	for line := range bytes.Lines(messages) {
		if err := c.send(bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
			return 0, err
		}
	}
	return len(messages), nil
}

// send sends one message of the client's, and owns its text.
func (c *Conn) send(text []byte) error {
	m, err := rpc.ParseMessage(text)
	if err != nil {
		return fmt.Errorf("the client sends what is no message: %w", err)
	}
	s := c.snapshot()
	switch {
	case m.IsResponse():
		if s.revision == "" {
			return nil // to a request that a modern server must not have sent, and that must not be answered
		}
		return c.postAsync(&s, text, nil)
	case m.ID.IsZero() && m.Method == mcp.NotificationCancelled:
		return c.sendCancelled(&s, text, m.Params)
	case m.ID.IsZero() && m.Method == mcp.NotificationInitialized:
		return c.sendInitialized(text)
	case m.ID.IsZero():
		return c.postAsync(&s, text, nil)
	}
	x := c.newPostRequest(&m, text)
	select {
	case c.requests <- x:
		return nil
	default:
	}
	if !c.startGoroutine(func() { c.worker(x) }) {
		return errClosed
	}
	return nil
}

// sendCancelled passes on that a call was given up. A modern server notices that its answer is not wanted any more (2026-07-28, Streamable HTTP, "Cancellation"); a legacy one is
// told, if it has got the request at all, and what it answers all the same is not waited for.
func (c *Conn) sendCancelled(s *legacyState, text, params []byte) error {
	id, err := rpc.ParseID(jsonscan.Member(params, "requestId"))
	if err != nil {
		return nil
	}
	c.mu.Lock()
	x := c.inFlight[id]
	untold := x != nil && (x.modern || !x.sent)
	c.mu.Unlock()
	switch {
	case untold:
		x.cancel(context.Canceled)
		return nil
	case x == nil && s.endpoint == nil: // with HTTP+SSE, an exchange does not last until the answer
		return nil
	}
	if x != nil {
		x.cancelled.Store(true)
	}
	return c.postAsync(s, text, x)
}

// abandon ends an exchange whose answer nobody wants any more, where there is nothing to tell the server.
func (c *Conn) abandon(id rpc.ID) {
	c.mu.Lock()
	x := c.inFlight[id]
	c.mu.Unlock()
	if x != nil {
		x.cancel(context.Canceled)
	}
}

// postAsync sends a message to which there is no answer, without waiting until it was accepted. It waits while too many are under way. When the server has been told, the exchange
// that is given up by that ends, if there is one.
func (c *Conn) postAsync(s *legacyState, text []byte, givenUp *postRequest) error {
	select {
	case c.postSlots <- struct{}{}:
	case <-c.ctx.Done():
		return errClosed
	}
	started := c.startGoroutine(func() {
		defer func() { <-c.postSlots }()
		switch {
		case givenUp != nil && s.sessionLost:
			givenUp.cancel(context.Canceled)
		case givenUp != nil:
			defer givenUp.cancelAfterStream()
		}
		if s.sessionLost {
			return // what it is about has gone with the session
		}
		ctx, cancel := context.WithTimeout(c.closeCtx, postTimeout)
		defer cancel()
		if err := c.post(ctx, s, text); err != nil && c.ctx.Err() == nil {
			c.link.Warn("a message was not accepted", slog.Any("error", err))
		}
	})
	if !started {
		<-c.postSlots
		return errClosed
	}
	return nil
}

// sendInitialized sends notifications/initialized, and begins to listen.
func (c *Conn) sendInitialized(text []byte) error {
	s := c.snapshot()
	ctx, cancel := context.WithTimeout(c.ctx, postTimeout)
	defer cancel()
	err := c.post(ctx, &s, text)
	switch {
	case c.ctx.Err() != nil:
		return errClosed
	case err != nil:
		c.link.Warn("a message was not accepted", slog.Any("error", err)) // whatever is wrong, the first call will show it
	}
	if !errors.Is(err, client.ErrSessionLost) {
		c.mu.Lock()
		c.state.sessionLost = false
		c.mu.Unlock()
	}
	c.startGetStream(&s)
	return nil
}

// post sends a message to which there is no answer, and waits until it was accepted.
func (c *Conn) post(ctx context.Context, s *legacyState, text []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := c.request(ctx, http.MethodPost, text, s)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		drain(resp.Body, cancel)
		return nil
	}
	return c.responseError(resp, s)
}

// snapshot returns what is known of a legacy server now.
func (c *Conn) snapshot() legacyState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// markSessionLost notes that the server has forgotten a session; it may be an earlier one.
func (c *Conn) markSessionLost(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.sessionID == session {
		c.state.sessionLost = true
	}
}
