package keepalive

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A network connects clients to a server. Each connection passes bytes on until it is dead; then it
// accepts all bytes and passes nothing on.
type network struct {
	accepted chan net.Conn
	dead     atomic.Pointer[chan struct{}] // of the connections made until now
	dialed   atomic.Int32
}

func newNetwork() *network {
	n := &network{accepted: make(chan net.Conn)}
	n.dead.Store(new(make(chan struct{})))
	return n
}

// die makes all connections dead.
func (n *network) die() { close(*n.dead.Swap(new(make(chan struct{})))) }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, left := net.Pipe()
	right, server := net.Pipe()
	dead := *n.dead.Load()
	pass := func(to, from net.Conn) {
		defer to.Close()
		buffer := make([]byte, 4096)
		for {
			got, err := from.Read(buffer)
			if err != nil {
				return
			}
			select {
			case <-dead:
				continue
			default:
			}
			if _, err := to.Write(buffer[:got]); err != nil {
				return
			}
		}
	}
	go pass(left, right)
	go pass(right, left)
	n.dialed.Add(1)
	select {
	case n.accepted <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	c, ok := <-n.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (n *network) Close() error   { close(n.accepted); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "network"} }

// A dead HTTP/2 connection is closed before a caller loses patience, and the next request uses
// another one. A server that takes long to respond is not dead.
func TestDeadHTTP2Connection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		release := make(chan struct{})
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		var gone atomic.Int32 // streams whose client is gone
		server := &http.Server{Protocols: protocols, HTTP2: ServerHTTP2(),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/slow":
					<-release
				case "/stream":
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					gone.Add(1)
				}
				_, _ = io.WriteString(w, r.Proto)
			})}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(n) }()
		transport := Transport()
		transport.Proxy, transport.DialContext, transport.Protocols = nil, n.dial, protocols
		defer func() {
			n.die() // ends what waits
			transport.CloseIdleConnections()
			_ = server.Close()
			<-served
		}()
		get := func(path string) (string, error) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://server"+path, http.NoBody)
			assert.NilError(t, err)
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			if path == "/stream" {
				return resp.Proto, nil
			}
			text, err := io.ReadAll(resp.Body)
			return string(text), err
		}
		ok := func(path string) {
			t.Helper()
			text, err := get(path)
			assert.NilError(t, err)
			assert.Equal(t, text, "HTTP/2.0")
		}
		ok("/")
		time.AfterFunc(time.Minute, func() { close(release) })
		ok("/slow")
		assert.Equal(t, n.dialed.Load(), int32(1))

		stream, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://server/stream", nil)
		assert.NilError(t, err)
		resp, err := transport.RoundTrip(stream)
		assert.NilError(t, err)
		n.die()
		start := time.Now()
		_, err = get("/")
		assert.ErrorContains(t, err, "http2: client connection lost")
		assert.Assert(t, time.Since(start) <= clientPing+clientPong)
		_, err = io.ReadAll(resp.Body)
		assert.Assert(t, err != nil, "the stream has ended as well")
		ok("/")
		assert.Equal(t, n.dialed.Load(), int32(2))

		time.Sleep(serverPing + serverPong)
		synctest.Wait()
		assert.Equal(t, gone.Load(), int32(1), "the server has noticed it, too")
	})
}

// Connections of TCP work with these options, and others with none.
func TestAccepted(t *testing.T) {
	bound, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	l := Listener(bound)
	defer l.Close()
	dialed, err := Dialer(time.Minute).DialContext(t.Context(), "tcp", l.Addr().String())
	assert.NilError(t, err)
	defer dialed.Close()
	accepted, err := l.Accept()
	assert.NilError(t, err)
	defer accepted.Close()
	_, err = dialed.Write([]byte("x"))
	assert.NilError(t, err)
	_, err = io.ReadFull(accepted, make([]byte, 1))
	assert.NilError(t, err)
	near, far := net.Pipe()
	Accepted(near)
	assert.NilError(t, near.Close())
	assert.NilError(t, far.Close())
}
