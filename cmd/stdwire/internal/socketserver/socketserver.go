// Package socketserver serves MCP servers on the sockets of package socket, which only the user of
// this process can reach.
package socketserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
)

// MaxConns is the number of connections that a socket serves at a time. Further connections
// wait.
const MaxConns = 32

// A Server serves an MCP server on a socket that only its user can reach.
type Server struct {
	listener net.Listener
	Path     string
	log      *slog.Logger
	server   *server.Server // nil until Start

	connsChanged func(n int) // may be nil

	ctx    context.Context // until Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns int
}

// New returns a server on a listener at path. The contexts of its requests have the values of ctx.
func New(ctx context.Context, listener net.Listener, path string, log *slog.Logger) *Server {
	s := &Server{listener: listener, Path: path, log: log}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Start serves until Close. Connections wait until then. connsChanged, if not nil, is called
// with the number of connections, now and when it changes, and not concurrently.
func (s *Server) Start(mcp *server.Server, connsChanged func(n int)) {
	s.server, s.connsChanged = mcp, connsChanged
	s.count(0)
	s.wg.Go(s.accept)
}

func (s *Server) accept() {
	free := make(chan struct{}, MaxConns)
	for {
		select {
		case free <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // possibly temporary, such as too many open files
			s.log.Warn("a connection to the socket cannot be accepted", slog.Any("error", err))
			select {
			case <-time.After(time.Second):
			case <-s.ctx.Done():
				return
			}
			<-free
			continue
		}
		s.count(1)
		s.wg.Go(func() {
			defer func() {
				s.count(-1)
				<-free
			}()
			// at once: a graceful shutdown would wait for a command that follows a log
			defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
			if err := s.server.Serve(s.caller(conn), conn); err != nil {
				s.log.Debug("a connection to the socket has ended", slog.Any("error", err))
			}
		})
	}
}

// caller returns the context of the requests on a connection, with the user at its other end: the
// user of this process, or an administrator.
func (s *Server) caller(conn net.Conn) context.Context {
	ctx := context.WithoutCancel(s.ctx)
	id := socket.Peer(conn)()
	if id == nil {
		return ctx
	}
	return context.WithValue(auth.WithIdentity(ctx, id), contextkey.Principal{}, id.Principal())
}

func (s *Server) count(delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns += delta
	if s.connsChanged != nil {
		s.connsChanged(s.conns)
	}
}

// Conns returns the number of connections. It is 0 if s is nil.
func (s *Server) Conns() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// Close stops the server, cancels running calls and waits for its goroutines.
func (s *Server) Close() {
	_ = os.Remove(s.Path) // first, so that no command finds a closed socket
	_ = s.listener.Close()
	s.cancel()
	s.wg.Wait()
	if s.server == nil {
		return
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.server.Close(grace)
}
