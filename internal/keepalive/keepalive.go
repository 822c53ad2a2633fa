// Package keepalive notices that the other end of a TCP connection has vanished without closing it,
// as after the sleep of a laptop, a change of networks or the timeout of a NAT. Without it, HTTP/2
// sends all requests on such a connection for a quarter of an hour, and a server keeps the streams
// of such a client as long.
//
// A connection ends when the kernel of the other end has acknowledged nothing for about a minute:
// neither probes on a connection without traffic nor, on Linux, data. The other end's program may
// take as long as it likes to respond. On an HTTP/2 connection, pings find out earlier, and also if
// something between the two acknowledges everything and passes nothing on.
package keepalive

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	// A probe is sent after probeIdle without traffic, and after each probeInterval without an
	// acknowledgment; the connection ends after probeCount of these.
	probeIdle     = 15 * time.Second
	probeInterval = 15 * time.Second
	probeCount    = 3
	// unacknowledged is how long sent data may remain unacknowledged, or unsent because the other
	// end does not read.
	unacknowledged = probeIdle + probeCount*probeInterval

	// A client sends a ping after clientPing without a frame, and closes the connection after
	// clientPong without any. Both together are less than the time that people wait for a call.
	clientPing, clientPong = 5 * time.Second, 8 * time.Second
	// The same of a server. Nobody waits for it.
	serverPing, serverPong = 15 * time.Second, 15 * time.Second
)

func config() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: probeIdle, Interval: probeInterval,
		Count: probeCount}
}

// Dialer returns a dialer with a timeout for the connection to be established.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAliveConfig: config(),
		ControlContext: func(_ context.Context, _, _ string, c syscall.RawConn) error {
			limitUnacknowledged(c)
			return nil
		}}
}

// Transport returns a transport for requests of which some may take long: it has no limit for a
// response. It uses the proxies of the environment, and HTTP/2 over TLS.
func Transport() *http.Transport {
	pings := &http.HTTP2Config{SendPingTimeout: clientPing, PingTimeout: clientPong}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            Dialer(30 * time.Second).DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  pings,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// ServerHTTP2 returns the configuration of HTTP/2 for a server.
func ServerHTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: serverPing, PingTimeout: serverPong}
}

// Accepted configures a connection that a server has accepted, if it is one of TCP.
func Accepted(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = t.SetKeepAliveConfig(config()) // without it, the connection is only noticed later
	if raw, err := t.SyscallConn(); err == nil {
		limitUnacknowledged(raw)
	}
}

// Listener returns a listener that calls [Accepted] for each connection of l.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		Accepted(c)
	}
	return c, err
}
