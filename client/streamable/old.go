package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// isOldServer reports a refusal that may come from a server of HTTP+SSE, to which nothing can be posted at its URL (2026-07-28, Streamable HTTP, "HTTP+SSE Transport").
func isOldServer(err error) bool {
	refused, ok := errors.AsType[*StatusError](err)
	return ok && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed)
}

// tryOld looks whether the server speaks HTTP+SSE, and if so goes on in that with initialize (2024-11-05, Transports, "HTTP with SSE"). If not, refused stands.
func (x *exchange) tryOld(refused error) error {
	c := x.c
	ctx, cancel := context.WithCancelCause(c.ctx)
	impatient := context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })
	resp, err := c.openStream(ctx, &state{}, "")
	if err != nil {
		cancel(nil)
		return refused
	}
	reader := c.newReader(resp.Body)
	s := state{revision: string(mcp.Rev20241105)}
	first, err := reader.Next()
	if err == nil && first.Type == "endpoint" {
		s.endpoint, err = c.url.Parse(string(first.Data))
		if err == nil && !sameOrigin(s.endpoint, c.url) {
			err = fmt.Errorf("%w; and its event stream wants messages to be sent to %s, which is another server", refused, printURL(s.endpoint))
			_ = resp.Body.Close()
			cancel(nil)
			return err
		}
	}
	if s.endpoint == nil || err != nil || !impatient() {
		_ = resp.Body.Close()
		cancel(nil)
		return refused
	}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	started := c.begin(func() {
		defer cancel(nil)
		defer resp.Body.Close()
		c.hearOldServer(ctx, reader)
	})
	if !started {
		cancel(nil)
		_ = resp.Body.Close()
		return errClosed
	}
	return x.postOld(&s)
}

// postOld sends the request to an old server, whose answer comes on the one stream that there is.
func (x *exchange) postOld(s *state) error {
	if err := x.c.post(x.ctx, s, x.text); err != nil {
		return x.refused(err)
	}
	return nil
}

// hearOldServer hands on what comes on that stream. With it the connection ends.
func (c *Conn) hearOldServer(ctx context.Context, reader *sse.Reader) {
	for {
		message, err := next(reader)
		if limit, ok := errors.AsType[*sse.LimitError](err); ok {
			err = tooLarge(int64(limit.Limit)+1, int64(limit.Limit))
		}
		if err == nil {
			err = c.deliver(ctx, message)
		}
		if err == nil {
			continue
		}
		if err != io.EOF {
			err = fmt.Errorf("GET %s: %s", printURL(c.url), printable.Line(err.Error()))
		}
		c.cancel(err)
		return
	}
}
