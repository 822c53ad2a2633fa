package forwarding

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/keepalive"
)

const (
	dialTimeout = 5 * time.Second
	maxIdle     = 256 // connections to one replica
)

// A Client sends requests to other replicas. It is safe for concurrent use.
type Client struct{ transport *http.Transport }

// NewClient returns a client. secure is for URLs of https and may be nil. dial is for tests and is
// nil otherwise.
func NewClient(secure *tls.Config,
	dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	if dial == nil {
		dial = keepalive.Dialer(dialTimeout).DialContext
	}
	t := keepalive.Transport()
	t.Proxy, t.DialContext = nil, dial
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, maxIdle
	t.TLSClientConfig, t.DisableCompression = secure, true
	return &Client{t}
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Send sends a request to the replica at a URL, with the sealed frame. begun reports whether the
// replica may have received it, also if there is an error. The caller closes the body of the
// response; when that returns, as after an error, the body of the request is used no more.
func (c *Client) Send(ctx context.Context, url string, f *Frame, sealed string, body []byte) (
	res *http.Response, begun bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, f.Method, url+f.Path, nil)
	if err != nil {
		return nil, false, err
	}
	request.Header = f.Header.Clone()
	request.Header[Header] = []string{sealed}
	used := make(chan struct{})
	if body == nil {
		close(used)
	} else {
		// Without GetBody, so that net/http cannot send it twice.
		request.Body = &requestBody{Reader: bytes.NewReader(body), used: used}
		request.ContentLength = int64(len(body))
	}
	res, err = c.transport.RoundTrip(request)
	if err != nil {
		<-used
		return nil, connected.Load(), err
	}
	res.Body = &responseBody{res.Body, used}
	return res, true, nil
}

// A requestBody says when net/http, which may return before, uses it no more.
type requestBody struct {
	*bytes.Reader
	once sync.Once
	used chan struct{}
}

func (b *requestBody) Close() error {
	b.once.Do(func() { close(b.used) })
	return nil
}

type responseBody struct {
	io.ReadCloser
	used <-chan struct{}
}

func (b *responseBody) Close() error {
	err := b.ReadCloser.Close()
	<-b.used
	return err
}

// responseHeaders are the headers of a response that its client gets.
var responseHeaders = []string{"Allow", "Cache-Control", "Content-Length", "Content-Type",
	"Retry-After", "Www-Authenticate", "X-Accel-Buffering", "X-Content-Type-Options"}

// Copy answers a request with a response, piece by piece as it comes. Each piece must be read
// within a time, see package httpdeadline. The error is that of the response's body: of the
// connection to the other replica, and not of that to the client.
func Copy(w http.ResponseWriter, deadlines httpdeadline.Request, res *http.Response) error {
	for _, name := range responseHeaders {
		if values := res.Header[name]; values != nil {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(res.StatusCode)
	control := http.NewResponseController(w)
	defer func() { // for what net/http has buffered
		_ = control.SetWriteDeadline(httpdeadline.NewPace(0, time.Now()).Deadline())
	}()
	isStream := res.ContentLength < 0
	if isStream && control.Flush() != nil { // a client of a stream waits for the header
		return nil
	}
	piece := buffer.Get(32 << 10)
	defer piece.Free()
	piece.Grow(32 << 10)
	for {
		n, err := res.Body.Read(piece.B[:cap(piece.B)])
		if n > 0 {
			if _, failed := deadlines.Writer(n).Write(piece.B[:n]); failed != nil {
				return nil
			}
			if isStream && control.Flush() != nil {
				return nil
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
