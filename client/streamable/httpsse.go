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

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/sse"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// mayBeHTTPSSE reports whether err may come from an HTTP+SSE server, which accepts no POST at its
// URL (2026-07-28, Streamable HTTP, "HTTP+SSE Transport").
func mayBeHTTPSSE(err error) bool {
	refused, ok := errors.AsType[*StatusError](err)
	return ok && (refused.Status == http.StatusBadRequest ||
		refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed)
}

// endpointTimeout limits how long a server may take to send the event "endpoint".
const endpointTimeout = 5 * time.Second

// tryHTTPSSE opens a GET stream. If it begins with the event "endpoint", it continues initialize
// over HTTP+SSE (2024-11-05, Transports, "HTTP with SSE"); otherwise it returns refused.
func (r *postRequest) tryHTTPSSE(refused error) error {
	c := r.c
	// Not r.ctx: the stream lasts as long as the connection.
	ctx, cancel := context.WithCancel(c.ctx)
	timer := time.AfterFunc(endpointTimeout, cancel)
	stop := context.AfterFunc(r.ctx, cancel)
	resp, err := c.openGetStream(ctx, &legacyState{}, "")
	if err != nil {
		cancel()
		return refused
	}
	reader := c.newReader(resp.Body)
	endpoint, err := r.readEndpoint(reader, refused)
	if !timer.Stop() || !stop() || err != nil {
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
	return r.postHTTPSSE(&s)
}

// readEndpoint reads the event "endpoint", which contains the URL for POSTs. If the stream begins
// with anything else, it returns refused.
func (r *postRequest) readEndpoint(reader *sse.Reader, refused error) (*url.URL, error) {
	first, err := reader.Next()
	if err != nil || first.Type != "endpoint" {
		return nil, refused
	}
	endpoint, err := r.c.url.Parse(string(first.Data))
	if err != nil {
		return nil, refused
	}
	if !httpurl.SameOrigin(endpoint, r.c.url) {
		return nil, fmt.Errorf("%w; its event stream names the endpoint %s of another server",
			refused, httpurl.Public(endpoint))
	}
	endpoint.User = r.c.url.User
	return endpoint, nil
}

// postHTTPSSE posts the request. The response comes on the GET stream.
func (r *postRequest) postHTTPSSE(s *legacyState) error {
	if err := r.c.post(r.ctx, s, r.text); err != nil {
		return r.deliverError(err)
	}
	return nil
}

// readHTTPSSE delivers the messages of the GET stream. The connection ends with the stream.
func (c *conn) readHTTPSSE(ctx context.Context, reader *sse.Reader) {
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
			err = fmt.Errorf("GET %s: %w", httpurl.Public(c.url), err)
		}
		c.cancel(err)
		return
	}
}
