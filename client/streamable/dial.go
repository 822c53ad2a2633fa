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
	c := &Conn{target: url, o: o, inbox: make(chan delivery), next: make(chan *exchange), rests: make(chan struct{}, maxResting), exchanges: make(map[rpc.ID]*exchange)}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.parting, c.part = context.WithCancel(context.Background())
	return c
}

// A Conn carries the messages of one client over HTTP: a [client.Transport].
type Conn struct {
	target  string
	o       Options
	url     *url.URL
	own     http.Header // of every request, from Options
	http    *http.Client
	link    *client.Link
	limits  framing.Limits
	places  chan struct{} // one for each call that is under way
	telling chan struct{} // one for each message that gets no answer

	ctx     context.Context // of all that is done
	cancel  context.CancelCauseFunc
	parting context.Context // of what the server is told and does not answer: goes on for 2 s after ctx
	part    context.CancelFunc
	inbox   chan delivery
	next    chan *exchange // for a goroutine that rests
	rests   chan struct{}  // one for each of those

	mu        sync.Mutex
	closed    bool
	wg        sync.WaitGroup       // counts up only while not closed
	exchanges map[rpc.ID]*exchange // requests that have no answer yet
	state     state
	replaced  time.Time // when a session was last replaced while no call was waiting
}

// state is what is known of a legacy server. In the modern era there is nothing to be known.
type state struct {
	revision string             // that the server has agreed to; "" before, and in the modern era
	session  string             // its id; "" if there is none
	lost     bool               // the server has forgotten the session, and there is no other yet in which requests may be sent
	endpoint *url.URL           // where messages go in HTTP+SSE; nil otherwise
	stop     context.CancelFunc // of the listening; nil if there is none
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
	maxTelling      = 256
	maxResting      = 32 // goroutines that wait for another exchange to do
	// farewell is how long Close waits for what the server still has to be told: the cancellation of a call, the end of the session.
	farewell = 2 * time.Second
)

// Open implements [client.Transport].
func (c *Conn) Open(link *client.Link) error {
	target, err := url.Parse(c.target)
	switch {
	case err != nil:
		return errors.New("its URL is none") // the error would print it, with all that is secret in it
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return fmt.Errorf("its URL %s is not one of http: or https:", printURL(target))
	}
	c.url, c.link, c.limits = target, link, link.Limits()
	if c.limits.MaxFrame <= 0 {
		c.limits.MaxFrame = framing.DefaultMaxFrame
	}
	if c.o.MaxCalls <= 0 {
		c.o.MaxCalls = defaultMaxCalls
	}
	c.places, c.telling = make(chan struct{}, c.o.MaxCalls), make(chan struct{}, maxTelling)
	c.http, c.own = c.httpClient(), c.ownHeader()
	link.MirrorsHeaders()
	link.OnAbandon(c.abandon)
	return nil
}

// httpClient returns what makes the requests.
func (c *Conn) httpClient() *http.Client {
	var own http.Client
	if c.o.HTTP != nil {
		own = *c.o.HTTP
	} else {
		own.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    c.o.MaxCalls,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		}
	}
	if c.o.Wrap != nil {
		own.Transport = c.o.Wrap(cmp.Or(own.Transport, http.DefaultTransport))
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

// begin starts a goroutine of the Conn's, unless that is closed.
func (c *Conn) begin(f func()) bool {
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
	return c.put(ctx, delivery{message: message})
}

func (c *Conn) put(ctx context.Context, d delivery) error {
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
	defer c.part()
	defer time.AfterFunc(farewell, c.part).Stop()
	c.wg.Wait()
	c.endSession()
	if c.http != nil && c.o.HTTP == nil {
		c.http.CloseIdleConnections()
	}
	return nil
}

// endSession tells the server that the session, if there is one, is not needed any more (2025-11-25, Transports, "Session Management"). Whether it likes to hear that
// is up to it.
func (c *Conn) endSession() {
	s := c.snapshot()
	if s.session == "" || s.lost {
		return
	}
	req := c.request(c.parting, http.MethodDelete, nil, &s)
	if resp, err := c.http.Do(req); err == nil {
		drain(resp.Body, c.part)
		_ = resp.Body.Close()
	}
}
