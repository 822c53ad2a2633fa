package socket_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/socket"
)

// A memoryListener accepts the far ends of in-memory connections.
type memoryListener struct {
	conns  chan net.Conn
	fails  chan error
	closed chan struct{}
	once   sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), fails: make(chan error, 1),
		closed: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case err := <-l.fails:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{} }

func (l *memoryListener) dial() *rpc.Peer {
	near, far := net.Pipe()
	l.conns <- far
	return rpc.Options{}.New(near)
}

// serving runs Serve in a bubble. A call of "wait" returns when release is closed or its context
// ends.
type serving struct {
	*memoryListener
	release chan struct{}
	end     context.CancelFunc
	result  chan error
}

func serve(t *testing.T, o socket.Options) *serving {
	ctx, end := context.WithCancel(t.Context())
	s := &serving{newMemoryListener(), make(chan struct{}), end, make(chan error, 1)}
	var r rpc.Router
	rpc.Handle(&r, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-s.release:
			return "released", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	rpc.Handle(&r, "ping", func(context.Context, struct{}) (string, error) { return "pong", nil })
	go func() {
		s.result <- o.Serve(ctx, s, func(conn net.Conn) *rpc.Peer {
			return rpc.Options{Handler: r.Serve}.New(conn)
		})
	}()
	return s
}

func TestServeEndsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := serve(t, socket.Options{IdleTimeout: time.Minute})
		time.Sleep(59 * time.Second)
		first := s.dial()
		second := s.dial()
		time.Sleep(time.Hour) // a connection is open
		assert.NilError(t, first.Call(t.Context(), "ping", nil, nil))
		_ = first.Close()
		time.Sleep(time.Hour)
		assert.NilError(t, second.Call(t.Context(), "ping", nil, nil))
		_ = second.Close()
		assert.NilError(t, <-s.result)
		assert.Equal(t, time.Since(start), 59*time.Second+2*time.Hour+time.Minute)
	})
}

func TestServeLimitsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, socket.Options{MaxConns: 2})
		first, second, third := s.dial(), s.dial(), s.dial()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.NilError(t, second.Call(ctx, "ping", nil, nil))
		assert.ErrorIs(t, third.Call(ctx, "ping", nil, nil), context.DeadlineExceeded)
		_ = first.Close()
		assert.NilError(t, third.Call(t.Context(), "ping", nil, nil))
		fourth := s.dial()
		s.end() // Serve closes the connections that it has accepted and does not serve
		assert.NilError(t, <-s.result)
		for _, p := range []*rpc.Peer{second, third, fourth} {
			_ = p.Wait()
		}
	})
}

func TestServeEndsWithGrace(t *testing.T) {
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, socket.Options{Grace: time.Minute})
			client := s.dial()
			call, err := client.Start(t.Context(), "wait", nil)
			assert.NilError(t, err)
			synctest.Wait()
			start := time.Now()
			s.end()
			synctest.Wait()
			assert.ErrorIs(t, client.Call(t.Context(), "ping", nil, nil), rpc.ErrBusy)
			took := time.Minute
			if released {
				close(s.release)
				took = 0
			}
			var answer string
			err = call.Wait(t.Context(), &answer)
			assert.NilError(t, <-s.result)
			assert.Equal(t, time.Since(start), took)
			if released {
				assert.NilError(t, err)
				assert.Equal(t, answer, "released")
			} else {
				assert.ErrorIs(t, err, rpc.ErrBusy)
			}
			_ = client.Wait()
		})
	}
}

func TestServeAndAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, socket.Options{})
		client := s.dial()
		s.fails <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		synctest.Wait()
		next := s.dial() // accepted when Serve tries again
		assert.NilError(t, next.Call(t.Context(), "ping", nil, nil))
		broken := errors.New("broken")
		s.fails <- broken
		assert.ErrorIs(t, <-s.result, broken)
		_, _ = client.Wait(), next.Wait()
	})
}

func TestServeClosesWhatGetsNoPeer(t *testing.T) {
	for name, newPeer := range map[string]func(net.Conn) *rpc.Peer{
		"nil":   func(net.Conn) *rpc.Peer { return nil },
		"panic": func(net.Conn) *rpc.Peer { panic("ashes") },
	} {
		synctest.Test(t, func(t *testing.T) {
			ln := newMemoryListener()
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- socket.Options{}.Serve(ctx, ln, newPeer) }()
			client := ln.dial()
			assert.ErrorContains(t, client.Wait(), "EOF", name)
			cancel()
			assert.NilError(t, <-result)
		})
	}
}

func TestListenAndServe(t *testing.T) {
	err := socket.Options{}.ListenAndServe(t.Context(), "tcp", "127.0.0.1:none", nil)
	assert.ErrorContains(t, err, "none")

	assert.NilError(t, socket.Options{IdleTimeout: time.Millisecond}.
		ListenAndServe(t.Context(), "tcp", "127.0.0.1:0", nil))
}

func TestServeClosesItsListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, socket.Options{IdleTimeout: time.Millisecond}.Serve(t.Context(), ln, nil))
	_, err = ln.Accept()
	assert.ErrorIs(t, err, net.ErrClosed)
}
