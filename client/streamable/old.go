package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// mayBeHTTPSSE reports a refusal that may come from a server of HTTP+SSE, to which nothing can be posted at its URL (2026-07-28, Streamable HTTP, "HTTP+SSE Transport").
func mayBeHTTPSSE(err error) bool {
	refused, ok := errors.AsType[*StatusError](err)
	return ok && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed)
}

// endpointTimeout is how long a stream may take to begin with the event "endpoint".
const endpointTimeout = 5 * time.Second

// tryHTTPSSE looks whether the server speaks HTTP+SSE, and if so goes on in that with initialize (2024-11-05, Transports, "HTTP with SSE"). If not, refused stands.
func (x *postRequest) tryHTTPSSE(refused error) error {
	c := x.c
	ctx, cancel := context.WithCancel(c.ctx) // not of x: the stream lasts as long as the connection
	inTime := time.AfterFunc(endpointTimeout, cancel)
	wanted := context.AfterFunc(x.ctx, cancel)
	resp, err := c.openGetStream(ctx, &legacyState{}, "")
	if err != nil {
		cancel()
		return refused
	}
	reader := c.newReader(resp.Body)
	endpoint, err := x.readEndpoint(reader, refused)
	if !inTime.Stop() || !wanted() || err != nil {
		cancel()
		_ = resp.Body.Close()
		return cmp.Or(err, refused)
	}
	s := legacyState{revision: string(mcp.Rev20241105), endpoint: endpoint}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	started := c.startGoroutine(func() {
		defer cancel()
		defer resp.Body.Close()
		c.readHTTPSSE(ctx, reader)
	})
	if !started {
		cancel()
		_ = resp.Body.Close()
		return errClosed
	}
	return x.postHTTPSSE(&s)
}

// readEndpoint reads the address for messages, with which a stream of HTTP+SSE begins. If it does not, the error is refused.
func (x *postRequest) readEndpoint(reader *sse.Reader, refused error) (*url.URL, error) {
	first, err := reader.Next()
	if err != nil || first.Type != "endpoint" {
		return nil, refused
	}
	endpoint, err := x.c.url.Parse(string(first.Data))
	if err != nil {
		return nil, refused
	}
	if !sameOrigin(endpoint, x.c.url) {
		return nil, fmt.Errorf("%w; and its event stream wants messages to be sent to %s, which is another server", refused, redactURL(endpoint))
	}
	endpoint.User = x.c.url.User
	return endpoint, nil
}

// postHTTPSSE sends the request to an old server, whose answer comes on the one stream that there is.
func (x *postRequest) postHTTPSSE(s *legacyState) error {
	if err := x.c.post(x.ctx, s, x.text); err != nil {
		return x.deliverError(err)
	}
	return nil
}

// readHTTPSSE hands on what comes on that stream. With it the connection ends.
func (c *Conn) readHTTPSSE(ctx context.Context, reader *sse.Reader) {
	for {
		message, err := nextMessage(reader)
		if limit, ok := errors.AsType[*sse.LimitError](err); ok {
			err = eventLimitError(limit)
		}
		if err == nil {
			err = c.deliver(ctx, message)
		}
		if err == nil {
			continue
		}
		if err != io.EOF {
			err = fmt.Errorf("GET %s: %w", redactURL(c.url), err)
		}
		c.cancel(err)
		return
	}
}
