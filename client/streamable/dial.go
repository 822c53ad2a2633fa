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
	"github.com/stdwire/stdwire/rpc"
)

// Options are the settings of a [Conn]. The zero value is ready for use.
type Options struct {
	// HTTP makes the requests; nil is a client of the Conn's own, with the proxies of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), HTTP/2 over TLS, and
	// room for as many idle connections as there are calls at a time. Its Timeout should be zero: it would end streams, and calls have their own. Its CheckRedirect is asked after the Conn's own rule.
	HTTP *http.Client
	// Header is added to every request, such as an Authorization. The headers of the protocol cannot be replaced.
	Header http.Header
	// Wrap, if not nil, makes another transport of that of HTTP, or of the Conn's own: such as one that authorizes the requests, see [github.com/stdwire/stdwire/client/auth]. It gets all requests, those that are
	// redirected one by one, and is called once for each Conn.
	Wrap func(http.RoundTripper) http.RoundTripper
	// MaxCalls is how many requests to the server are under way at a time, each on a connection of its own with HTTP/1.1; more wait. Default 256. The handshake and subscriptions do not count.
	MaxCalls int
}

// Dial returns a transport to the server at an http: or https: URL, for [client.Connect]. Nothing is sent before that.
func Dial(url string) *Conn { return Options{}.Dial(url) }

// Dial is [Dial] with options.
func (o Options) Dial(url string) *Conn {
	c := &Conn{target: url, options: o, inbox: make(chan delivery), requests: make(chan *postRequest), idleWorkers: make(chan struct{}, maxIdleWorkers), inFlight: make(map[rpc.ID]*postRequest)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.closeCtx, c.closeCancel = context.WithCancel(context.Background())
	return c
}

// A Conn carries the messages of one client over HTTP: a [client.Transport].
type Conn struct {
	target     string
	options    Options
	url        *url.URL
	header     http.Header // of every request, from Options
	httpClient *http.Client
	link       *client.Link
	limits     framing.Limits
	callSlots  chan struct{} // one for each call that is under way
	postSlots  chan struct{} // one for each message that gets no answer

	ctx         context.Context // of all that is done
	cancel      context.CancelCauseFunc
	closeCtx    context.Context // of what the server is told and does not answer: goes on for 2 s after ctx
	closeCancel context.CancelFunc
	inbox       chan delivery
	requests    chan *postRequest // for a goroutine that rests
	idleWorkers chan struct{}     // one for each of those

	mu              sync.Mutex
	closed          bool
	wg              sync.WaitGroup          // counts up only while not closed
	inFlight        map[rpc.ID]*postRequest // requests that have no answer yet
	state           legacyState
	sessionReplaced time.Time // when a session was last replaced while no call was waiting
}

// legacyState is what is known of a legacy server. In the modern era there is nothing to be known.
type legacyState struct {
	revision      string             // that the server has agreed to; "" before, and in the modern era
	sessionID     string             // its id; "" if there is none
	sessionLost   bool               // the server has forgotten the session, and there is no other yet in which requests may be sent
	endpoint      *url.URL           // where messages go in HTTP+SSE; nil otherwise
	stopGetStream context.CancelFunc // of the listening; nil if there is none
}

// A delivery is a message of the server's, or that there will be no answer to a request.
type delivery struct {
	message []byte
	id      rpc.ID
	err     error
}

// errClosed is why everything ends when the Conn is closed.
var errClosed = fmt.Errorf("the connection is closed: %w", net.ErrClosed)

const (
	defaultMaxCalls = 256
	maxPosts        = 256
	maxIdleWorkers  = 32 // goroutines that wait for another exchange to do
	// closeTimeout is how long Close waits for what the server still has to be told: the cancellation of a call, the end of the session.
	closeTimeout = 2 * time.Second
)

// Open implements [client.Transport].
func (c *Conn) Open(link *client.Link) error {
	target, err := url.Parse(c.target)
	switch {
	case err != nil:
		return errors.New("its URL is none") // the error would print it, with all that is secret in it
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return fmt.Errorf("its URL %s is not one of http: or https:", redactURL(target))
	}
	c.url, c.link, c.limits = target, link, link.Limits()
	if c.limits.MaxFrame <= 0 {
		c.limits.MaxFrame = framing.DefaultMaxFrame
	}
	if c.options.MaxCalls <= 0 {
		c.options.MaxCalls = defaultMaxCalls
	}
	c.callSlots, c.postSlots = make(chan struct{}, c.options.MaxCalls), make(chan struct{}, maxPosts)
	c.httpClient, c.header = c.newHTTPClient(), c.optionsHeader()
	link.MirrorsHeaders()
	link.OnAbandon(c.abandon)
	return nil
}

// newHTTPClient returns what makes the requests.
func (c *Conn) newHTTPClient() *http.Client {
	var own http.Client
	if c.options.HTTP != nil {
		own = *c.options.HTTP
	} else {
		own.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    c.options.MaxCalls,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		}
	}
	if c.options.Wrap != nil {
		own.Transport = c.options.Wrap(cmp.Or(own.Transport, http.DefaultTransport))
	}
	theirs := own.CheckRedirect
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := checkRedirect(req, via); err != nil || theirs == nil {
			return err
		}
		return theirs(req, via)
	}
	return &own
}

// startGoroutine starts a goroutine of the Conn's, unless that is closed.
func (c *Conn) startGoroutine(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// ReadFrame implements [client.Transport].
func (c *Conn) ReadFrame(dst []byte) ([]byte, error) {
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

// deliver hands a message to the client. It blocks while the client does not take it, until ctx ends.
func (c *Conn) deliver(ctx context.Context, message []byte) error {
	return c.enqueue(ctx, delivery{message: message})
}

func (c *Conn) enqueue(ctx context.Context, d delivery) error {
	select {
	case c.inbox <- d:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close implements [client.Transport]. The server is told of the end of a session. For that, and for what else it still has to be told, Close takes up to 2 s.
func (c *Conn) Close() error {
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

// endSession tells the server that the session, if there is one, is not needed any more (2025-11-25, Transports, "Session Management"). Whether it likes to hear that
// is up to it.
func (c *Conn) endSession() {
	s := c.snapshot()
	if s.sessionID == "" || s.sessionLost {
		return
	}
	req := c.request(c.closeCtx, http.MethodDelete, nil, &s)
	if resp, err := c.httpClient.Do(req); err == nil {
		drain(resp.Body, c.closeCancel)
		_ = resp.Body.Close()
	}
}
