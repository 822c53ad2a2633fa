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

// tellPatience is how long a message that gets no answer may take to be accepted.
const tellPatience = 30 * time.Second

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
		return c.tell(&s, text, nil)
	case m.ID.IsZero() && m.Method == mcp.NotificationCancelled:
		return c.cancelled(&s, text, m.Params)
	case m.ID.IsZero() && m.Method == mcp.NotificationInitialized:
		return c.initialized(text)
	case m.ID.IsZero():
		return c.tell(&s, text, nil)
	}
	x := c.newExchange(&m, text)
	select {
	case c.next <- x:
		return nil
	default:
	}
	if !c.begin(func() { c.work(x) }) {
		return errClosed
	}
	return nil
}

// cancelled passes on that a call was given up. A modern server notices that its answer is not wanted any more (2026-07-28, Streamable HTTP, "Cancellation"); a legacy one is
// told, if it has got the request at all, and what it answers all the same is not waited for.
func (c *Conn) cancelled(s *state, text, params []byte) error {
	id, err := rpc.ParseID(jsonscan.Member(params, "requestId"))
	if err != nil {
		return nil
	}
	c.mu.Lock()
	x := c.exchanges[id]
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
		x.unwanted.Store(true)
	}
	return c.tell(s, text, x)
}

// abandon ends an exchange whose answer nobody wants any more, where there is nothing to tell the server.
func (c *Conn) abandon(id rpc.ID) {
	c.mu.Lock()
	x := c.exchanges[id]
	c.mu.Unlock()
	if x != nil {
		x.cancel(context.Canceled)
	}
}

// tell sends a message to which there is no answer, without waiting until it was accepted. It waits while too many are under way. When the server has been told, the exchange
// that is given up by that ends, if there is one.
func (c *Conn) tell(s *state, text []byte, givenUp *exchange) error {
	select {
	case c.telling <- struct{}{}:
	case <-c.ctx.Done():
		return errClosed
	}
	started := c.begin(func() {
		defer func() { <-c.telling }()
		switch {
		case givenUp != nil && s.lost:
			givenUp.cancel(context.Canceled)
		case givenUp != nil:
			defer givenUp.linger()
		}
		if s.lost {
			return // what it is about has gone with the session
		}
		ctx, cancel := context.WithTimeout(c.parting, tellPatience)
		defer cancel()
		if err := c.post(ctx, s, text); err != nil && c.ctx.Err() == nil {
			c.link.Warn("a message was not accepted", slog.Any("error", err))
		}
	})
	if !started {
		<-c.telling
		return errClosed
	}
	return nil
}

// initialized sends notifications/initialized, and begins to listen.
func (c *Conn) initialized(text []byte) error {
	s := c.snapshot()
	ctx, cancel := context.WithTimeout(c.ctx, tellPatience)
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
		c.state.lost = false
		c.mu.Unlock()
	}
	c.listen(&s)
	return nil
}

// post sends a message to which there is no answer, and waits until it was accepted.
func (c *Conn) post(ctx context.Context, s *state, text []byte) error {
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
	return c.refusal(resp, s)
}

// snapshot returns what is known of a legacy server now.
func (c *Conn) snapshot() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// lose notes that the server has forgotten a session; it may be an earlier one.
func (c *Conn) lose(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.session == session {
		c.state.lost = true
	}
}
