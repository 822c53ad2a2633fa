package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client/internal/cancelled"
	"github.com/stdwire/stdwire/client/internal/changes"
	"github.com/stdwire/stdwire/client/internal/listed"
	"github.com/stdwire/stdwire/client/internal/progress"
	"github.com/stdwire/stdwire/client/internal/queue"
	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/client/internal/urlelicitation"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/timeout"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Client is a connection to one MCP server. [Spawn] and [Connect] create one. All methods are
// safe for concurrent use and may be called from the callbacks in [Options], except Wait, which
// would wait for its own callback. Lists such as [Client.Tools] are iterators, which fetch page
// after page; [All] returns one as a slice.
type Client struct {
	o     Options
	proc  *child.Process // nil if the client did not start the server
	spawn Command        // the command of proc

	activity activity
	peer     *rpc.Peer
	outgoing rpc.Handler             // sends through Options.Outgoing; nil without any
	session  atomic.Pointer[session] // stored by open before the client is used
	meta     atomic.Pointer[requestMeta]
	level    atomic.Pointer[mcp.LoggingLevel] // the log level requested from a legacy server

	renewing        chan struct{}   // capacity 1: held while a session is renewed
	headerTools     *listed.Headers // nil if the transport has no headers
	outputSchemas   listed.Outputs
	calls           progress.Table
	taskSupports    listed.TaskSupports
	urlElicitations *urlelicitation.Table // nil if OnElicit takes no URLs
	cancelled       cancelled.Requests
	lists           []*changes.List                     // lists with a callback for changes
	logs            *queue.Queue[[]byte]                // nil without OnLog
	extensions      *queue.Queue[extensionNotification] // nil if there are none to expect
	updates         *changes.Updates                    // nil without OnResourceUpdated
	listening       *subscription.Stream
	stats           lockedStats
	routes          map[string]func(params []byte) // notification handlers by method
	inputHandlers   map[string]inputHandler        // input request handlers by method

	// The stopped timers of calls are not shared among clients, because a timer belongs to the
	// synctest bubble that made it.
	timers sync.Pool

	mu        sync.Mutex
	abandoned int // number of tasks being cancelled

	ctx     context.Context    // ends with the connection; for the goroutines of wg
	cancel  context.CancelFunc // ends ctx; called with mu held, so that wg does not grow afterwards
	wg      sync.WaitGroup     // all goroutines of the client except run
	closing chan struct{}      // closed at the start of Close
	once    sync.Once          // closes closing
	err     error              // why the connection ended; set before done is closed
	done    chan struct{}

	explained chan struct{} // closed when errors no longer wait for the exit of proc
	explain   func()        // closes explained, once
}

// An extensionNotification waits for a handler of an extension, or for OnNotification.
type extensionNotification struct {
	extension *Extension // nil: for Options.OnNotification
	method    string
	params    []byte
}

// An inputHandler answers an input request: a request of a legacy server, or a part of a modern
// server's result. The error is an *invalidInputRequest or that of the callback.
type inputHandler func(ctx context.Context, params json.RawMessage) (answer json.RawMessage,
	err error)

// run waits for the end of the connection and then releases everything.
func (c *Client) run() {
	<-c.peer.Closed()
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	if c.proc != nil {
		c.awaitExit()
		_ = c.proc.Close() // the server may have closed only its stdout
	}
	if err := c.peer.Wait(); !c.isClosing() && err != nil {
		c.err = c.newLostError(context.Background(), err)
	}
	c.wg.Wait()
	close(c.done)
}

// background runs f on a goroutine, unless the connection has ended.
func (c *Client) background(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.wg.Go(f)
	}
}

// callContext returns the context of a request that the client makes by itself.
func (c *Client) callContext() (context.Context, context.CancelFunc) {
	if c.o.CallTimeout < 0 {
		return context.WithCancel(c.ctx)
	}
	return context.WithTimeout(c.ctx, c.o.CallTimeout)
}

// Close ends the connection. If the client started the server's process, Close closes its stdin,
// sends SIGTERM to it and to the processes it has started after [Command].Grace, and SIGKILL after
// the same time again. Close returns when they have ended, or an error if they cannot be killed.
// Calls in flight fail at once. A goroutine may outlive Close while a callback runs; see
// Wait. If the connection was lost before, Err keeps that reason.
func (c *Client) Close() error {
	if !c.isLost() { // otherwise calls would report the client as closed
		c.once.Do(func() { close(c.closing) })
	}
	c.explain()
	flush, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = c.peer.Flush(flush) // for example notifications/cancelled of a call just given up
	var err error
	if c.proc != nil {
		// The peer still reads: a server that writes while it ends would be killed by SIGPIPE.
		err = c.proc.Close()
	}
	_ = c.peer.Close()
	return err
}

// flushTimeout is how long Close waits for the server to read the sent messages.
const flushTimeout = 250 * time.Millisecond

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (c *Client) isClosing() bool { return isClosed(c.closing) }

// isLost reports whether the connection has ended.
func (c *Client) isLost() bool { return isClosed(c.peer.Closed()) }

// isOpen reports whether a call could be sent. The cache must not hide that the connection has
// ended.
func (c *Client) isOpen(ctx context.Context) bool {
	return !isClosed(ctx.Done()) && !c.isClosing() && !c.isLost()
}

// Done is closed when the connection and the process have ended and no goroutine of the client is
// left.
func (c *Client) Done() <-chan struct{} { return c.done }

// Wait blocks until Done is closed and returns Err.
func (c *Client) Wait() error {
	<-c.done
	return c.Err()
}

// Err returns why the connection ended: nil before Done is closed and after Close, otherwise a
// [*LostError].
func (c *Client) Err() error {
	if !isClosed(c.done) {
		return nil
	}
	return c.err
}

// exitTimeout is how long the client waits for the exit status after the connection has ended. The
// end of stdout precedes the end of the process, by a good part of a second on a busy machine, and
// stderr is still read then. Without the status an error does not say why the server failed, and
// one that exits at the probe of its era is not started again. A process that only closed its
// stdout is ended afterwards.
const exitTimeout = 2 * time.Second

// awaitExit waits for the exit status of the process, on behalf of all errors. The connection has
// ended. Close ends the wait: it ends the process itself, whose status then explains nothing.
func (c *Client) awaitExit() {
	defer c.explain()
	if errors.Is(c.peer.Err(), framing.ErrTooLarge) {
		return // see newLostError
	}
	timeout.InParts(exitTimeout, func(part time.Duration) bool {
		select {
		case <-c.proc.Done():
			return true
		case <-c.explained:
			return true
		case <-time.After(part):
			return false
		}
	})
}

// newLostError adds the exit status of the process to the error that ended the connection. It waits
// as long as awaitExit does, or until ctx ends.
func (c *Client) newLostError(ctx context.Context, err error) error {
	lost := &LostError{Err: err}
	if c.proc == nil || errors.Is(err, framing.ErrTooLarge) {
		// the client closed the connection, and so ended the process
		return lost
	}
	select {
	case <-c.peer.Closed(): // calls fail just before
		select {
		case <-c.explained:
		case <-ctx.Done():
		}
	case <-time.After(exitTimeout): // Options.Outgoing returned the error of another connection
	case <-ctx.Done():
	}
	if isClosed(c.proc.Done()) {
		if exit := (*ExitError)(c.proc.Wait()); !exit.Stopped {
			lost.Exit = exit
		}
	}
	return lost
}

// connectionError converts an error of the peer. If the connection has ended, the result says why;
// see newLostError for how long that takes.
func (c *Client) connectionError(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, rpc.ErrClosed):
		return err
	case c.isClosing():
		return errClosed
	case errors.Is(err, io.EOF):
		return c.newLostError(ctx, io.EOF)
	}
	return c.newLostError(ctx, cmp.Or(c.peer.Err(), err))
}

// Era returns the era of the connection, [mcp.Legacy] or [mcp.Modern].
func (c *Client) Era() mcp.Era { return c.session.Load().features.Era }

// Revision returns the negotiated revision.
func (c *Client) Revision() mcp.Revision { return c.session.Load().revision }

// ServerInfo returns the name and version that the server reports, for display only. It is zero if
// the server reports none.
func (c *Client) ServerInfo() mcp.Implementation { return c.session.Load().info }

// Capabilities returns the capabilities that the server declares. The caller must not modify them.
func (c *Client) Capabilities() *mcp.ServerCapabilities { return &c.session.Load().capabilities }

// Instructions returns the server's instructions for a model, often "".
func (c *Client) Instructions() string { return c.session.Load().instructions }

// Handshake returns the record of the handshake.
func (c *Client) Handshake() Handshake { return c.session.Load().handshake }

// Stats returns the counts so far, and when something was last received.
func (c *Client) Stats() Stats {
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	n := c.stats.Stats
	n.Samples = slices.Clone(n.Samples)
	n.LastReceived = c.activity.time()
	return n
}

// Process describes the server's process; nil if the client did not start it.
func (c *Client) Process() *Process {
	if c.proc == nil {
		return nil
	}
	names, _ := c.spawn.config().EnvNames() // no error: the process was started with it
	p := &Process{Pid: c.proc.Pid(), Command: c.spawn, EnvNames: names}
	if isClosed(c.proc.Done()) {
		p.Exit = (*ExitError)(c.proc.Wait())
	}
	return p
}

// StderrTail returns the last 64 KiB at most that the process wrote to stderr, safe to print; ""
// without a process.
func (c *Client) StderrTail() string {
	if c.proc == nil {
		return ""
	}
	return c.proc.StderrTail()
}

// runCallback runs a callback of the application and logs a panic.
func (c *Client) runCallback(callback string, f func()) {
	if failure := contain.Run(f); failure != nil {
		c.logCallbackPanic(callback, failure)
	}
}

// logCallbackPanic logs a callback that panicked.
func (c *Client) logCallbackPanic(callback string, failure *contain.PanicError) {
	c.warn("a callback panicked", slog.String("callback", callback),
		slog.String("panic", failure.String()),
		slog.String("stack", string(failure.Stack)))
}

// warn logs a warning that no error reports.
func (c *Client) warn(what string, attrs ...slog.Attr) {
	c.o.Logger.LogAttrs(context.Background(), slog.LevelWarn, "mcp client: "+what,
		append(attrs, slog.String("server", c.o.Name))...)
}
