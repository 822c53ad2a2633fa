package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// ServeStdio serves one client on standard input and output, until the client closes its end, ctx
// ends, or the process gets SIGINT or SIGTERM. It returns the error of [Server.Serve]. Call it at
// most once, because it keeps both streams. Afterwards, output of the program or a child process to
// standard output goes to standard error, where the system supports that, so that it cannot break
// the protocol.
func (s *Server) ServeStdio(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := s.Serve(ctx, rpc.Stdio())
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	return errors.Join(err, s.Close(grace))
}

// drainTimeout is how long calls may continue after the client has closed its end, and on shutdown.
// Clients wait about two seconds before they send SIGTERM.
const drainTimeout = 1500 * time.Millisecond

// abandonTimeout is how long calls may continue after their context has ended, before Serve returns
// without waiting for them.
const abandonTimeout = 3 * time.Second

// Serve serves one client on stream, until the client closes it or ctx ends. Then it lets calls in
// progress finish for up to 1.5 s, or [Options].ShutdownTimeout if ctx ends, answers the rest with
// an error with the code [rpc.CodeBusy], and returns when all its goroutines have ended. It returns
// nil if the client has closed the stream between two messages or ctx has ended, and otherwise the
// error that ended the connection. It also returns an error if an operation still runs 3 s after
// its context has ended. The client chooses the framing, newline or Content-Length, with its first
// bytes. Closing stream must end a blocked Read.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	principal, _ := ctx.Value(contextkey.Principal{}).(string)
	c := s.Integration().NewConn(context.WithoutCancel(ctx), ConnOptions{Principal: principal})
	defer c.Close()
	peer := rpc.Options{
		Handler:      s.handler,
		Framing:      framing.Auto,
		Limits:       s.o.Limits,
		Cancellation: mcp.Cancellation(),
		Ordered:      func(method string) bool { return method == mcp.MethodInitialize },
		Drain:        drainTimeout,
		Hooks:        s.o.Hooks,
		Context:      &connContext{c.ctx, c, nil}, // of all requests; each has its peer
	}.New(stream)
	select {
	case <-peer.Closed():
	case <-ctx.Done():
		c.Finish()
		grace, cancel := context.WithTimeout(c.ctx, cmp.Or(s.o.ShutdownTimeout, drainTimeout))
		defer cancel()
		_ = peer.Shutdown(grace) // after grace, it cancels the calls and closes the connection
	}
	select {
	case <-peer.Done():
	case <-time.After(abandonTimeout):
		return errors.New("server: calls still run after their context has ended: return when ctx is done")
	}
	if err := peer.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// handle is the [rpc.Handler] of all connections, inside of Options.Middleware. The flow of a
// tools/call is:
//
//	Server.handle
//	  Server.request            request.go: finds the members of params
//	  era.Classify              internal/era: determines the era
//	  request.row               methods.go: finds the method
//	  request.repeat            mrtr.go: runs it, again if a legacy client has answered
//	    callTool                tools.go: answers in the request, or by taskcall.go in a task
//	      request.find          item.go: asks the providers for the item
//	      request.use           item.go: runs it within Options.Interceptors
//	        operationTool.use   tools.go: has dispatch.Dispatcher run the operation
//	          request.toolResult  result.go: makes its envelope the result
//
// The result is encoded when it is sent. A raw tool has a function of rawtool.go in place of
// operationTool.use, and an item of another server one of forwarded.go. The flow of prompts/get and
// resources/read is the same.
func (s *Server) handle(ctx context.Context, req *rpc.Request) (any, error) {
	if req.IsNotification() {
		s.handleNotification(ctx, req)
		return nil, nil
	}
	r, err := s.request(ctx, req)
	defer r.close()
	if err != nil {
		return nil, err
	}
	if r.era, err = era.Classify(r.Method, &r.params.Meta, r.conn.legacy.Load()); err != nil {
		return nil, err
	}
	r.conn.setViewer(r)
	row, err := r.row()
	if err != nil {
		return nil, err
	}
	r.beginProgress()
	defer r.progress.End()
	result, err := r.repeat(row.handle)
	if err != nil {
		return nil, r.modernError(err)
	}
	return result, nil
}

// handleNotification handles the notifications of MCP and of extensions, and ignores others.
func (s *Server) handleNotification(ctx context.Context, req *rpc.Request) {
	from, _ := ctx.Value(connKey{}).(*connContext)
	if handle, ok := notifications[req.Method]; ok {
		handle(from.conn, req)
	} else {
		s.notifyExtension(ctx, from.conn, from.link, req)
	}
}
