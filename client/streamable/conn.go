package streamable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/rpc"
)

// A conn is a [client.Transport] that carries the messages of one client over HTTP.
type conn struct {
	target     string
	options    Options
	url        *url.URL
	header     http.Header // added to every request, from Options
	httpClient *http.Client
	link       *client.Link
	limits     framing.Limits
	callSlots  chan struct{} // semaphore: calls in flight
	postSlots  chan struct{} // semaphore: notifications and responses in flight

	ctx    context.Context // of all work except closeCtx's; canceled by Close
	cancel context.CancelCauseFunc
	// closeCtx is the context of POSTs without a response and of the final DELETE. It is canceled
	// up to 2 s after ctx.
	closeCtx    context.Context
	closeCancel context.CancelFunc
	inbox       chan delivery
	requests    chan *postRequest // passes requests to idle workers
	idleWorkers chan struct{}     // semaphore: idle workers
	silence     silence

	mu              sync.Mutex
	closed          bool
	wg              sync.WaitGroup          // Add is called only while not closed
	inFlight        map[rpc.ID]*postRequest // requests without a response yet
	state           legacyState
	sessionReplaced time.Time // when a lost session was last replaced without a call
}

// A delivery is a message from the server, or the failure of a request.
type delivery struct {
	message []byte
	id      rpc.ID
	err     error
}

// errClosed is the cause of ctx after Close.
var errClosed = fmt.Errorf("the connection is closed: %w", net.ErrClosed)

const (
	defaultMaxCalls = 256
	maxPosts        = 256
	maxIdleWorkers  = 32 // goroutines that wait for another request
	// closeTimeout limits how long Close waits for the last messages to the server: the
	// cancellation of calls and the end of the session.
	closeTimeout = 2 * time.Second
)

// Open implements [client.Transport].
func (c *conn) Open(link *client.Link) error {
	target, err := url.Parse(c.target)
	switch {
	case err != nil:
		return errors.New("the URL is invalid") // url.Error could show secrets
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return fmt.Errorf("the URL %s is not an http: or https: URL", httpurl.Public(target))
	case c.options.HTTP != nil && c.options.TLS != nil:
		return errors.New("Options.HTTP and Options.TLS exclude each other: set the TLS of HTTP's Transport")
	}
	c.url, c.link, c.limits = target, link, link.Limits
	if c.limits.MaxFrame <= 0 {
		c.limits.MaxFrame = framing.DefaultMaxFrame
	}
	if c.options.MaxCalls <= 0 {
		c.options.MaxCalls = defaultMaxCalls
	}
	c.callSlots = make(chan struct{}, c.options.MaxCalls)
	c.postSlots = make(chan struct{}, maxPosts)
	c.httpClient, c.header = c.newHTTPClient(), c.optionsHeader()
	link.MirrorsHeaders, link.OnAbandon = true, c.abandon
	return nil
}

// newHTTPClient returns the client that sends all requests.
func (c *conn) newHTTPClient() *http.Client {
	var own http.Client
	if c.options.HTTP != nil {
		own = *c.options.HTTP
	} else {
		transport := keepalive.Transport()
		transport.TLSClientConfig = c.options.TLS
		transport.MaxIdleConnsPerHost = c.options.MaxCalls
		own.Transport = transport
	}
	if c.options.Wrap != nil {
		own.Transport = c.options.Wrap(cmp.Or(own.Transport, http.DefaultTransport))
	}
	configured := own.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := checkRedirect(req, via); err != nil || configured == nil {
			return err
		}
		return configured(req, via)
	}
	return &own
}

// startGoroutine runs f in a goroutine that Close waits for. It reports false if the conn is
// closed.
func (c *conn) startGoroutine(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// ReadFrame implements [client.Transport].
func (c *conn) ReadFrame(dst []byte) ([]byte, error) {
	for {
		select {
		case d := <-c.inbox:
			if d.err == nil {
				return d.message, nil
			}
			c.link.Fail(d.id, d.err)
		case <-c.ctx.Done():
			if cause := context.Cause(c.ctx); cause != errClosed {
				return dst[:0], cause
			}
			return dst[:0], io.EOF
		}
	}
}

// deliver passes a message to the client. It blocks until the client takes it or ctx ends.
func (c *conn) deliver(ctx context.Context, message []byte) error {
	return c.enqueue(ctx, delivery{message: message})
}

func (c *conn) enqueue(ctx context.Context, d delivery) error {
	select {
	case c.inbox <- d:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close implements [client.Transport]. It ends the session with a DELETE. It waits up to 2 s for
// that and for messages in flight.
func (c *conn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		c.wg.Wait()
		return nil
	}
	c.cancel(errClosed)
	defer c.closeCancel()
	defer time.AfterFunc(closeTimeout, c.closeCancel).Stop()
	c.wg.Wait()
	c.endSession()
	if c.httpClient != nil && c.options.HTTP == nil {
		c.httpClient.CloseIdleConnections()
	}
	return nil
}
