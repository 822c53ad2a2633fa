// Package connlimit limits the open connections of a listener, in all and for each address. So no
// peer takes the memory and the descriptors of a program before the program knows who it is.
package connlimit

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/keepalive"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
)

// A Listener limits the number of open connections, in all and for each address. When the limit is
// reached, it closes an idle connection: of the same address if that has reached its share, else of
// the address with the most connections. An address may have at most half of the connections that
// the others leave. Connections of clients that have vanished are noticed by package keepalive.
type Listener struct {
	net.Listener
	places *quota.Pool // by address

	mu   sync.Mutex
	idle map[string]map[*limitedConn]struct{} // by address
}

// New returns l with a limit on its open connections. The ConnState of its [http.Server] must be
// [Listener.TrackState].
func New(l net.Listener, most int) *Listener {
	return &Listener{Listener: l, places: quota.NewPool(int64(most)),
		idle: map[string]map[*limitedConn]struct{}{}}
}

// Open returns the number of open connections.
func (l *Listener) Open() int { return int(l.places.Used()) }

// Accept implements [net.Listener]. It answers a connection over the limit with 503 and closes it.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &limitedConn{Conn: conn, listener: l,
			address: lograte.Network(conn.RemoteAddr().String()).String()}
		if keepalive.Accepted(conn); l.admit(c) {
			return c, nil
		}
		refuseConnection(conn)
	}
}

func (l *Listener) admit(c *limitedConn) bool {
	for {
		err := l.places.Take(c.address, 1)
		if err == nil {
			return true
		}
		owner := c.address
		if errors.Is(err, quota.ErrTotal) {
			heaviest, held := l.places.Heaviest()
			if held <= l.places.Held(owner) {
				return false
			}
			owner = heaviest
		}
		idle := l.takeIdle(owner)
		if idle == nil {
			return false
		}
		_ = idle.Close()
	}
}

// takeIdle removes an idle connection of an address from the idle connections and returns it.
func (l *Listener) takeIdle(address string) *limitedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.idle[address] {
		l.forget(c)
		return c
	}
	return nil
}

// TrackState records which connections are idle. It is for [http.Server.ConnState].
func (l *Listener) TrackState(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(*limitedConn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if state != http.StateIdle {
		l.forget(c)
		return
	}
	if l.idle[c.address] == nil {
		l.idle[c.address] = map[*limitedConn]struct{}{}
	}
	l.idle[c.address][c] = struct{}{}
}

// forget removes a connection from the idle connections. l.mu must be held.
func (l *Listener) forget(c *limitedConn) {
	if delete(l.idle[c.address], c); len(l.idle[c.address]) == 0 {
		delete(l.idle, c.address)
	}
}

// A limitedConn releases its place in the limit when it is closed.
type limitedConn struct {
	net.Conn
	listener *Listener
	address  string
	closed   sync.Once
}

func (c *limitedConn) Close() error {
	c.closed.Do(func() { c.listener.places.Give(c.address, 1) })
	return c.Conn.Close()
}

// NetConn returns the connection of the listener, as that of a [tls.Conn] does.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

// refuseConnection writes a response with status 503. It does not wait for the peer to read it.
func refuseConnection(conn net.Conn) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(
		[]byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: text/plain\r\n" +
			"Content-Length: 41\r\n\r\ntoo many connections are open; come later"))
	_ = conn.Close()
}
