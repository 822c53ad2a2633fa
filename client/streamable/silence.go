package streamable

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A connection can be dead without having been closed, for example after a laptop has slept. TCP
// and HTTP/2 notice that by themselves (package keepalive) unless a proxy accepts the bytes. The
// server may have performed a request that was sent on such a connection, so the request is not
// repeated, but idle connections of the same age must not swallow those that follow.

const (
	// maxSilence is how long requests wait without a byte of the server until those that follow use
	// new connections.
	maxSilence = 5 * time.Second
	// maxCancelledSilence is the same for a request that its caller no longer waits for.
	maxCancelledSilence = time.Second
	// reuseTimeout is how long a request without side effects waits for a response on a connection
	// of HTTP/1.1 that has been used before, until it is sent again on another one.
	reuseTimeout = 20 * time.Second
)

// A silence is the time for which requests have been waiting without a byte of the server.
type silence struct{ start atomic.Int64 } // Unix nanoseconds; 0 while nothing is waited for

// begin records that a request is sent. It reports whether others have waited for too long.
func (s *silence) begin() bool {
	now := time.Now()
	return !s.start.CompareAndSwap(0, now.UnixNano()) && s.exceeds(now, maxSilence)
}

// end records that the server has sent something.
func (s *silence) end() {
	if s.start.Load() != 0 {
		s.start.Store(0)
	}
}

func (s *silence) exceeds(now time.Time, limit time.Duration) bool {
	start := s.start.Load()
	return start != 0 && now.Sub(time.Unix(0, start)) >= limit
}

// dropIdle closes the idle connections if a request has failed, or nobody waits for it any more,
// after the server has been silent for a while.
func (c *conn) dropIdle() {
	if c.silence.exceeds(time.Now(), maxCancelledSilence) {
		c.httpClient.CloseIdleConnections()
	}
}

// received records that the server has sent something.
func (c *conn) received() {
	c.silence.end()
	c.link.Received()
}

var errReuseTimeout = errors.New("no response on a connection that was used before")

// doIdempotent sends a request without side effects. If no response begins within reuseTimeout on
// a connection of HTTP/1.1 that was used before, it sends the request again on a new connection.
// The context of the request must end when its response is no longer needed.
func (c *conn) doIdempotent(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	var timer atomic.Pointer[time.Timer]
	stop := func() {
		if t := timer.Swap(nil); t != nil {
			t.Stop()
		}
	}
	resp, err := c.do(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			secure, ok := info.Conn.(*tls.Conn)
			isHTTP2 := ok && secure.ConnectionState().NegotiatedProtocol == "h2"
			if stop(); info.Reused && !isHTTP2 {
				timer.Store(time.AfterFunc(reuseTimeout, func() { cancel(errReuseTimeout) }))
			}
		},
		GotFirstResponseByte: stop,
	})))
	stop()
	if context.Cause(ctx) != errReuseTimeout {
		return resp, err
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	c.httpClient.CloseIdleConnections()
	again := req.Clone(req.Context())
	if again.GetBody != nil {
		if again.Body, err = again.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.do(again)
}
