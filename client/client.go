package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Client is a connection to one MCP server. [Spawn] and [Connect] make one. All methods may be called from anywhere at any time, also from the
// callbacks in [Options], but for Wait, which a callback would wait for itself in.
type Client struct {
	o     Options
	proc  *child.Process // nil if the transport came from elsewhere
	spawn Command        // what proc was started as

	link    *Link
	codec   *codec
	peer    *rpc.Peer
	session atomic.Pointer[session] // stored by open, nothing else from then on
	meta    atomic.Pointer[requestMeta]
	level   atomic.Pointer[mcp.LoggingLevel] // that a legacy server was last asked for, or is to be

	renewing  chan struct{} // capacity 1: held by who begins a session anew
	headerTools    *headerTools       // nil if the transport has no headers
	outputSchemas   outputSchemas
	calls     progressTable
	taskSupports  taskSupports
	urlElicitations   urlElicitations
	late      cancelledCalls
	lists     []*watchedList // whose changes the application wants to hear of
	logs      *logQueue
	updates   *updateQueue // nil without OnResourceUpdated
	listening subscription
	noise     noise
	routes    map[string]func(params []byte) // of notifications
	inputHandlers map[string]inputHandler            // by method: those that are answered

	mu        sync.Mutex
	abandoned int // tasks that are being cancelled

	ctx     context.Context    // ends with the connection; for the goroutines of wg
	cancel  context.CancelFunc // ends ctx; with mu, so that wg does not grow from then on
	wg      sync.WaitGroup     // all goroutines of the client's own but run
	closing chan struct{}      // closed by Close, first thing
	once    sync.Once          // of closing
	err     error              // why the connection ended; set before done is closed
	done    chan struct{}
}

// newClient starts a client on a transport, and owns that. Nothing is sent.
func (o Options) newClient(t Transport, proc *child.Process) (*Client, error) {
	c := &Client{o: o, proc: proc, renewing: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	c.link = &Link{c: c, heard: make(chan struct{})}
	if err := t.Open(c.link); err != nil {
		_ = t.Close()
		return nil, err
	}
	c.listening.busy, c.listening.replaced = make(chan struct{}, 1), make(chan struct{}, 1)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.level.Store(&o.LogLevel)
	c.lists = c.newWatchedLists()
	c.inputHandlers = c.newInputHandlers()
	c.route()
	c.attach(t)
	go c.run()
	return c, nil
}

// run sees the connection to its end, whoever ends it.
func (c *Client) run() {
	err := c.peer.Wait()
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	if !c.isClosing() && err != nil {
		c.err = c.newLostError(err)
	}
	if c.proc != nil {
		_ = c.proc.Close() // the server may have closed its stdout and live on
	}
	c.wg.Wait()
	close(c.done)
}

// background runs f on a goroutine of the client's own, unless the connection has ended.
func (c *Client) background(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.wg.Go(f)
	}
}

// Close ends the connection. The server's process, if it is ours, is asked to end by closing its stdin; if it and what it has started have not ended
// after [Command].Grace it is sent SIGTERM, and after another SIGKILL. Close returns when it has ended; the error is that it cannot be killed.
// Calls that wait for an answer fail at once. Goroutines may outlive Close, as long as a callback runs; see Wait. Where the connection is lost already, that stays why it ended.
func (c *Client) Close() error {
	if !c.isLost() { // else it was not this that ended it, and no call may be told so
		c.once.Do(func() { close(c.closing) })
	}
	flush, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = c.peer.Flush(flush) // such as the cancellation of a call that was just given up
	var err error
	if c.proc != nil {
		// The peer reads on: a server must be able to write its last words, or it is killed by SIGPIPE.
		err = c.proc.Close()
	}
	_ = c.peer.Close()
	return err
}

// flushPatience is how long Close waits until the server has read what was sent to it.
const flushTimeout = 250 * time.Millisecond

func (c *Client) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// isLost reports whether the connection has ended.
func (c *Client) isLost() bool {
	select {
	case <-c.peer.Closed():
		return true
	default:
		return false
	}
}

// Done is closed when the connection has ended, the process too, and no goroutine of the client is left.
func (c *Client) Done() <-chan struct{} { return c.done }

// Wait blocks until Done and returns what Err does.
func (c *Client) Wait() error {
	<-c.done
	return c.Err()
}

// Err returns why the connection ended: nil as long as Done is not closed and if Close has ended it, else a [*LostError].
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// exitPatience is how long the exit status is waited for when the connection has ended: the end of its stdout is seen before that of the process, whose
// output on stderr is still to be read then. A process that has only closed its stdout does not end, and is then ended.
const exitTimeout = 500 * time.Millisecond

// lost makes of the cause that ended the connection an error that says what became of the server.
func (c *Client) newLostError(err error) error {
	lost := &LostError{Err: err}
	if c.proc == nil || errors.Is(err, framing.ErrTooLarge) { // for which we have hung up, and the process ends because of that
		return lost
	}
	timer := time.NewTimer(exitTimeout)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
		if exit := c.proc.Wait(); !exit.Stopped {
			lost.Exit = exit
		}
	case <-timer.C:
	}
	return lost
}

// broken makes an error of the peer one of the client's: if the connection has ended, it says how.
func (c *Client) connectionError(err error) error {
	switch {
	case !errors.Is(err, rpc.ErrClosed):
		return err
	case c.isClosing():
		return errClosed
	case errors.Is(err, io.EOF):
		return c.newLostError(io.EOF)
	}
	return c.newLostError(cmp.Or(c.peer.Err(), err))
}

// Era returns the era of the connection, [mcp.Legacy] or [mcp.Modern].
func (c *Client) Era() mcp.Era { return c.session.Load().features.Era }

// Revision returns the revision that is spoken.
func (c *Client) Revision() mcp.Revision { return c.session.Load().revision }

// ServerInfo returns the server's name and version as it gives them; they are for display only. The zero value if it does not.
func (c *Client) ServerInfo() mcp.Implementation { return c.session.Load().info }

// Capabilities returns what the server says that it can do. It must not be changed.
func (c *Client) Capabilities() *mcp.ServerCapabilities { return &c.session.Load().capabilities }

// Instructions returns how the server is meant to be used, for a model to read; often "".
func (c *Client) Instructions() string { return c.session.Load().instructions }

// Handshake returns how the connection began.
func (c *Client) Handshake() Handshake { return c.session.Load().handshake }

// LastHeard returns when the server last sent anything at all; the zero time if it never did.
func (c *Client) LastHeard() time.Time {
	last := c.link.last.Load()
	if last == 0 {
		return time.Time{}
	}
	return time.Unix(0, last)
}

// StderrTail returns the latest output of the server's process on stderr, 64 KiB at most, fit to be printed; "" without a process.
func (c *Client) StderrTail() string {
	if c.proc == nil {
		return ""
	}
	return c.proc.StderrTail()
}
