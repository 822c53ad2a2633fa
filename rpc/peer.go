package rpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/turn"
)

// A Peer is one end of a JSON-RPC connection. Its methods may be called concurrently and from
// handlers, except that a handler must not call Wait or Shutdown, which wait for it.
type Peer struct {
	o            Options
	stream       io.Closer
	codec        framing.Codec
	out          outbox
	write        func()          // out.write: each go statement would allocate it again
	line         *turn.Line      // for the work on large messages; perhaps shared with other peers
	roomFreed    chan struct{}   // signals the waiting reader that a message finished
	batch        atomic.Bool     // whether batches are accepted
	lastID       atomic.Int64    // of the last call of this side
	ctx          context.Context // parent of the context of every handler
	cancel       context.CancelCauseFunc
	wg           sync.WaitGroup // all goroutines but the reader
	stopWatching func() bool    // stops watching Options.Context
	endOnce      sync.Once
	readerLeft   atomic.Bool // the reader did not end after Close and is ignored
	done         chan struct{}
	// unused Calls of the method Call; of each peer, because channels belong to a synctest bubble
	calls sync.Pool

	mu    sync.Mutex
	state state // accessed only in update
}

// state holds what changes while a peer lives.
type state struct {
	// Calls of this side.
	pending map[int64]*Call
	// Calls of the other side.
	inflight      map[ID]*inboundMessage // requests without a response
	active        int                    // requests and notifications accepted and not finished
	running       int                    // requests that hold one of the MaxRunning slots
	queue         queue                  // messages that wait for the lane
	requests      load
	notifications load
	readerWaits   bool  // the reader waits for room for a notification
	laneRuns      bool  // the lane is ready, or a worker runs it
	ready         queue // messages that may start, and the lane, until a worker takes them
	writeDue      bool  // a worker must write the outbox
	waking        bool  // a worker has been woken and has not looked at ready yet
	idleWorkers   []worker

	refusing    bool          // this side shuts down or the other side has closed
	idle        chan struct{} // closed when refusing is true and active is 0
	remoteEnd   error         // io.EOF or a *framing.SyncError: no call will get a response
	closed      bool
	err         error       // why the connection ended; nil if this side closed it
	readerDone  bool        // the reader has ended
	readerTimer *time.Timer // runs from when the stream is closed until the reader has ended
}

// update calls f with the state, under the lock. f must not block: no I/O, no handler, no hook.
// Then update closes idle if the peer has become idle.
func (p *Peer) update(f func(s *state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.state)
	s := &p.state
	if s.refusing && s.active == 0 {
		select {
		case <-s.idle:
		default:
			close(s.idle)
		}
	}
}

// othersRun reports whether handlers run, or several calls wait for responses.
func (p *Peer) othersRun() (run bool) {
	p.update(func(s *state) { run = s.running > 0 || len(s.pending) > 1 })
	return run
}

// New starts a peer on stream. Closing the stream must end a blocked Read and a blocked Write;
// for standard input and output use [Stdio]. Wait waits for the Write. If a Read continues for more
// than a second after the stream was closed, its goroutine is left behind and its data is dropped.
func (o Options) New(stream io.ReadWriteCloser) *Peer {
	if o.Framing == nil {
		o.Framing = framing.Newline
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	o.Drain = cmp.Or(o.Drain, defaultDrain)
	o.Limits = o.Limits.withDefaults()
	o.Hooks = o.Hooks.Safe()
	codec := o.Framing(stream, o.Limits.Limits)
	p := &Peer{
		o: o, stream: stream, codec: codec,
		roomFreed: make(chan struct{}, 1),
		done:      make(chan struct{}),
	}
	p.batch.Store(o.Batch)
	p.out = outbox{
		codec: codec, w: stream, wg: &p.wg, fail: p.fail, othersRun: p.othersRun,
		maxUnsent: o.Limits.MaxUnsent, maxResponses: o.Limits.MaxResponses,
	}
	p.write = p.out.write
	p.out.finisher, _ = codec.(framing.Finisher)
	// The end of o.Context reaches handlers through fail, so that the cause they see matches
	// ErrClosed.
	p.ctx, p.cancel = context.WithCancelCause(
		&peerContext{context.Background(), o.Context, p})
	if p.line, _ = o.Context.Value(turn.Key{}).(*turn.Line); p.line == nil {
		p.line = new(turn.Line)
	}
	p.state = state{
		pending:  make(map[int64]*Call),
		inflight: make(map[ID]*inboundMessage),
		idle:     make(chan struct{}),
	}
	p.wg.Add(1)
	p.update(func(*state) { // under the lock, which fail needs
		p.stopWatching = context.AfterFunc(p.o.Context, func() {
			defer p.wg.Done()
			p.fail(context.Cause(p.o.Context))
		})
	})
	go p.run()
	return p
}

// run reads until the stream ends, drains, closes, and waits for all other goroutines.
func (p *Peer) run() {
	err := errExited
	defer func() { // deferred, because a callback may call runtime.Goexit
		p.update(func(s *state) {
			if s.readerDone = true; s.readerTimer != nil {
				s.readerTimer.Stop()
			}
		})
		if _, lost := errors.AsType[*framing.SyncError](err); lost || err == io.EOF {
			p.drain(err)
		}
		p.fail(err)
		p.end()
	}()
	if failure := contain.Call(func() { err = p.read() }); failure != nil {
		p.reportPanic("", failure)
		err = fmt.Errorf("rpc: reading: %w", failure)
	}
}

// end waits for all goroutines but the reader.
func (p *Peer) end() {
	p.endOnce.Do(func() {
		if p.stopWatching() {
			p.wg.Done()
		}
		p.wg.Wait()
		close(p.done)
	})
}

const readerGrace = time.Second // how long a Read may continue after the stream was closed

// awaitReader ends the peer without its reader if that does not end soon. The stream is closed.
func (p *Peer) awaitReader() {
	p.update(func(s *state) {
		if s.readerDone {
			return
		}
		s.readerTimer = time.AfterFunc(readerGrace, func() {
			late := false
			p.update(func(s *state) { late = !s.readerDone })
			if late {
				p.readerLeft.Store(true)
				p.end()
			}
		})
	})
}

// drain lets handlers finish after the other side has closed the stream for writing, or has written
// what is no frame: it may still read the responses. Calls of this side fail at once.
func (p *Peer) drain(end error) {
	gone := &closedError{end}
	p.update(func(s *state) {
		s.refusing, s.remoteEnd = true, end
		for _, in := range s.inflight {
			if in.detached {
				in.request.cancel(gone)
			}
		}
	})
	p.failPending(gone)
	ctx, cancel := context.WithTimeout(p.ctx, p.o.Drain)
	defer cancel()
	select {
	case <-p.state.idle:
		_ = p.out.flush(ctx)
	case <-ctx.Done():
		if p.o.Drain > 0 {
			p.abandon()
		}
	}
}

// answerTimeout is how long handlers may take to return after their contexts ended by a shutdown.
const answerTimeout = 250 * time.Millisecond

// abandon cancels the requests in progress with [ErrShutdown], and lets them be answered.
func (p *Peer) abandon() {
	p.update(func(s *state) {
		for _, in := range s.inflight {
			in.request.cancel(ErrShutdown)
		}
	})
	ctx, cancel := context.WithTimeout(p.ctx, answerTimeout)
	defer cancel()
	select {
	case <-p.state.idle:
		_ = p.out.flush(ctx)
	case <-ctx.Done():
	}
}

// fail closes the peer with err, or nil if this side closes it. Only the first call has an effect.
func (p *Peer) fail(err error) {
	first := false
	p.update(func(s *state) {
		first = !s.closed
		if s.remoteEnd != nil && err != nil {
			err = s.remoteEnd // a failed Write is a consequence
		}
		if first {
			s.closed, s.refusing, s.err = true, true, err
			s.endIdleWorkers()
		}
	})
	if !first {
		return
	}
	closed := &closedError{err}
	p.out.close(closed)
	p.cancel(closed)
	p.failPending(closed)
	// last, because closing a child process may take long
	if failure := contain.Run(func() { _ = p.stream.Close() }); failure != nil {
		p.reportPanic("", failure)
	}
	p.awaitReader()
}

// errNoPeer is the error of methods of a nil Peer, such as that of [PeerFromContext] over HTTP.
var errNoPeer = errors.New("rpc: no peer: the request did not come over a connection of one, " +
	"as with HTTP, so the other side cannot be called")

// Close ends the connection at once: the stream is closed, handlers' contexts end, and calls fail.
// What is queued for the other side is dropped, responses too: call [Peer.Flush] first, or
// [Peer.Shutdown] in place of Close. It does not wait for handlers; [Peer.Wait] does.
func (p *Peer) Close() error {
	if p == nil {
		return errNoPeer
	}
	p.fail(nil)
	return nil
}

// Shutdown refuses new requests with [ErrBusy], waits until the running handlers have returned and
// their responses are written, and closes. If ctx ends first, it cancels the requests in progress
// with [ErrShutdown], waits up to 250 ms more for their responses, and returns the error of ctx.
func (p *Peer) Shutdown(ctx context.Context) error {
	if p == nil {
		return errNoPeer
	}
	p.update(func(s *state) { s.refusing = true })
	defer p.fail(nil)
	select {
	case <-p.state.idle:
		if err := p.out.flush(ctx); !errors.Is(err, ErrClosed) {
			return err
		}
		return nil
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.abandon()
		return ctxError(ctx)
	}
}

// Closed returns a channel that is closed when the connection has ended. Handlers may still run;
// see Done.
func (p *Peer) Closed() <-chan struct{} { return p.ctx.Done() }

// Done returns a channel that is closed when the goroutines of the peer have ended and Err is
// final.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Wait blocks until the peer is closed and its goroutines have ended, except for a Read that the
// stream does not end (see [Options.New]). It returns what Err does, which is io.EOF if the other
// side has closed the stream after a whole message.
func (p *Peer) Wait() error {
	<-p.done
	return p.Err()
}

// Err returns why the connection ended. It is nil while the connection is open, and after Close or
// Shutdown; [io.EOF] if the other side closed the connection between two messages; otherwise the
// error that ended it.
func (p *Peer) Err() (err error) {
	p.update(func(s *state) { err = s.err })
	return err
}

// Flush blocks until everything sent so far has been written to the stream, or ctx ends.
func (p *Peer) Flush(ctx context.Context) error {
	if p == nil {
		return errNoPeer
	}
	return p.out.flush(ctx)
}

// AllowBatch accepts or refuses batches from now on. In MCP the revision decides, which is known
// only after the first message.
func (p *Peer) AllowBatch(on bool) { p.batch.Store(on) }

// post queues a message and starts a writer if none runs. The caller must free the message.
func (p *Peer) post(ctx context.Context, message *buffer.Buffer) error {
	if ctx != nil && ctx.Err() != nil {
		return ctxError(ctx)
	}
	if p.o.Hooks.CallsFrame() {
		p.o.Hooks.Frame(p.ctx, Outbound, bytes.Clone(message.B))
	}
	due, err := p.out.put(ctx, message)
	if due {
		go p.write()
	}
	return err
}

// ctxError returns the error of a context that has ended, with its cause if that is another error.
func ctxError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return &endedError{err, cause}
}

type endedError struct{ err, cause error }

func (e *endedError) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *endedError) Unwrap() []error { return []error{e.err, e.cause} }

// now returns the time if there is a Call hook, which reports durations. Else it returns zero.
func (h *Hooks) now() (t time.Time) {
	if h.Call != nil {
		t = time.Now()
	}
	return t
}
