package streamable

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/stdwire/stdwire/rpc"
)

// Options configure a [Conn]. The zero value is ready for use.
type Options struct {
	// HTTP sends the requests. If it is nil, the Conn uses a client of its own, with the proxies of
	// the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), HTTP/2 over TLS, and up to MaxCalls idle
	// connections. Its Timeout should be zero: it would end streams, and calls have deadlines of
	// their own. Its CheckRedirect runs after the Conn's own check.
	HTTP *http.Client
	// TLS configures the Conn's own client; nil is the default. If HTTP is set too, the connection
	// fails.
	TLS *tls.Config
	// Header is added to every request, such as Authorization. It cannot replace the headers of the
	// protocol.
	Header http.Header
	// Wrap, if not nil, wraps the transport of HTTP or the Conn's own, for example to authorize
	// requests: see [github.com/stdwire/stdwire/client/auth]. The wrapped transport receives every
	// request, including each redirected one. Wrap is called once for each Conn.
	Wrap func(http.RoundTripper) http.RoundTripper
	// MaxCalls limits the requests in flight; with HTTP/1.1, each uses a connection of its own.
	// Further calls wait. Default 256. The handshake and subscriptions do not count.
	MaxCalls int
}

// Dial returns a transport for [client.Connect] to the server at an http: or https: URL. It sends
// nothing.
func Dial(url string) *Conn { return Options{}.Dial(url) }

// Dial is like the function [Dial], with options.
func (o Options) Dial(url string) *Conn {
	c := &Conn{
		target: url, options: o,
		inbox:       make(chan delivery),
		requests:    make(chan *postRequest),
		idleWorkers: make(chan struct{}, maxIdleWorkers),
		inFlight:    make(map[rpc.ID]*postRequest),
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.closeCtx, c.closeCancel = context.WithCancel(context.Background())
	return c
}
