package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/stdwire/stdwire/server"
)

// MaxSocketConns is the number of connections that a socket serves at a time. Further connections
// wait.
const MaxSocketConns = 32

// A socketServer serves an MCP server on a socket that only its user can reach.
type socketServer struct {
	listener net.Listener
	path     string
	log      *slog.Logger
	server   *server.Server // nil until start
	// connsChanged, if not nil, is called with the number of connections when it changes, and not
	// concurrently.
	connsChanged func(n int)

	ctx    context.Context // until close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns int
}

func newSocketServer(listener net.Listener, path string, log *slog.Logger) *socketServer {
	s := &socketServer{listener: listener, path: path, log: log}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start serves until close. Connections wait until then.
func (s *socketServer) start(mcp *server.Server) {
	s.server = mcp
	s.wg.Go(s.accept)
}

func (s *socketServer) accept() {
	free := make(chan struct{}, MaxSocketConns)
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
			if err := s.server.Serve(context.WithoutCancel(s.ctx), conn); err != nil {
				s.log.Debug("a connection to the socket has ended", slog.Any("error", err))
			}
		})
	}
}

func (s *socketServer) count(delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns += delta
	if s.connsChanged != nil {
		s.connsChanged(s.conns)
	}
}

// open returns the number of connections. It is 0 if s is nil.
func (s *socketServer) open() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// close stops the server, cancels running calls and waits for its goroutines.
func (s *socketServer) close() {
	_ = os.Remove(s.path) // first, so that no command finds a closed socket
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
