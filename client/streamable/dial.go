package streamable

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
)

// Options configure a transport. The zero value is ready for use.
type Options struct {
	// HTTP sends the requests. If it is nil, each transport has an HTTP client of its own, with the
	// proxies of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), HTTP/2 over TLS, and up to
	// MaxCalls idle connections. Its Timeout should be zero: it would end streams, and calls have
	// deadlines of their own. Its CheckRedirect runs after the check of the transport.
	HTTP *http.Client
	// TLS configures that client; nil is the default. If HTTP is set too, the connection fails.
	TLS *tls.Config
	// Header is added to every request, such as Authorization. It cannot replace the headers of the
	// protocol.
	Header http.Header
	// Wrap, if not nil, wraps the round tripper of HTTP or of that client, for example to authorize
	// requests: see [github.com/stdwire/stdwire/client/auth]. The wrapped one receives every
	// request, including each redirected one. Wrap is called once for each transport.
	Wrap func(http.RoundTripper) http.RoundTripper
	// MaxCalls limits the requests in flight; with HTTP/1.1, each uses a connection of its own.
	// Further calls wait. Default 256. The handshake and subscriptions do not count.
	MaxCalls int
}

// Dial returns a transport for [client.Connect] to the server at an http: or https: URL. It sends
// nothing. A transport is for one client.
func Dial(url string) client.Transport { return Options{}.Dial(url) }

// Dial is like the function [Dial], with options.
func (o Options) Dial(url string) client.Transport { return o.newConn(url) }

func (o Options) newConn(url string) *conn {
	c := &conn{
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
