package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
)

// A Peer is one end of a JSON-RPC connection. All its methods may be called from anywhere at any time, handlers included, but for Wait and Shutdown, which a
// handler would wait for itself in.
type Peer struct {
	o            Options
	stream       io.Closer
	codec        framing.Codec
	out          outbox
	queueMoved   chan struct{}   // a token when the lane has moved and the reader waits for that
	batch        atomic.Bool     // batches are accepted
	ctx          context.Context // the parent of every handler's
	cancel       context.CancelCauseFunc
	wg           sync.WaitGroup // every goroutine but the reader
	stopWatching func() bool    // from Options.Context
	endOnce      sync.Once
	readerLeft   atomic.Bool          // the reader is left behind
	work         chan *inboundMessage // to goroutines that have nothing to do
	idleWorkers  atomic.Int32         // how many those are
	done         chan struct{}

	mu    sync.Mutex
	state state // only to be touched by update
}

// state is all that changes while a peer lives.
type state struct {
	// Calls of this side.
	lastID  int64
	pending map[int64]*Pending
	// Calls of the other side.
	inflight      map[ID]*inboundMessage // requests that were not answered yet
	active        int                    // requests and notifications accepted and not finished
	running       int                    // requests that hold one of the MaxRunning places
	queue         queue                  // those that wait for the lane
	requests      load
	notifications load
	readerWaits   bool // the reader waits for room
	laneRuns      bool // a goroutine takes from the queue

	refusing     bool          // new requests are refused: we are shutting down, or the other side has closed
	idle         chan struct{} // closed when refusing and nothing is active
	remoteClosed bool          // the other side has closed: no call can be answered
	closed       bool
	err          error       // why, nil if that was our own wish
	readerDone   bool        // the reader has ended
	readerTimer  *time.Timer // runs once the stream is closed, until the reader has ended
}

// update runs f on the state, alone. f must not block: no I/O, no handler, no hook. Then it applies the one rule about the end.
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

// NewPeer starts a peer on stream. Closing the stream must end a Read and a Write that block on it;
// for standard input and output, use [Stdio]. Wait waits for the Write. A Read that goes on for
// more than a second after the stream was closed is left behind with its goroutine, and what it
// returns is dropped.
func NewPeer(stream io.ReadWriteCloser, o Options) *Peer {
	if o.Framing == nil {
		o.Framing = framing.Newline
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	o.Limits = o.Limits.withDefaults()
	o.Hooks = o.Hooks.Safe()
	codec := o.Framing(stream, o.Limits.Limits)
	p := &Peer{o: o, stream: stream, codec: codec, done: make(chan struct{}), queueMoved: make(chan struct{}, 1), work: make(chan *inboundMessage)}
	p.batch.Store(o.Batch)
	p.out = outbox{codec: codec, w: stream, maxUnsent: o.Limits.MaxUnsent, maxResponses: o.Limits.MaxResponses, wg: &p.wg, fail: p.fail}
	// Its end reaches handlers through fail, so that they see ErrClosed as the cause whatever comes first.
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(o.Context))
	p.state = state{pending: make(map[int64]*Pending), inflight: make(map[ID]*inboundMessage), idle: make(chan struct{})}
	p.wg.Add(1)
	p.update(func(*state) { // which fail waits for
		p.stopWatching = context.AfterFunc(p.o.Context, func() {
			defer p.wg.Done()
			p.fail(context.Cause(p.o.Context))
		})
	})
	go p.run()
	return p
}

// run is the life of a peer: read until the end, drain, close, wait for all others.
func (p *Peer) run() {
	err := errExited
	defer func() { // also if a callback calls runtime.Goexit
		p.update(func(s *state) {
			if s.readerDone = true; s.readerTimer != nil {
				s.readerTimer.Stop()
			}
		})
		if err == io.EOF {
			p.drain()
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

const readerGrace = time.Second // that a Read may go on after the stream was closed

// awaitReader leaves the reader behind if it does not end soon, now that the stream is closed.
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

// drain lets handlers finish after the other side has closed its end: it may still read the answers. Our own calls have no hope of one.
func (p *Peer) drain() {
	gone := &closedError{io.EOF}
	p.update(func(s *state) {
		s.refusing, s.remoteClosed = true, true
		for _, in := range s.inflight {
			if in.detached {
				in.cancel(gone)
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
	}
}

// fail closes the peer because of err; nil if it was asked to. Only the first call has an effect.
func (p *Peer) fail(err error) {
	first := false
	p.update(func(s *state) {
		first = !s.closed
		if s.remoteClosed && err != nil {
			err = io.EOF // that the answers do not arrive any more is no news
		}
		if first {
			s.closed, s.refusing, s.err = true, true, err
		}
	})
	if !first {
		return
	}
	closed := &closedError{err}
	p.out.close(closed)
	p.cancel(closed)
	p.failPending(closed)
	// Last, as that of a child process may take its time.
	if failure := contain.Run(func() { _ = p.stream.Close() }); failure != nil {
		p.reportPanic("", failure)
	}
	p.awaitReader()
}

// Close ends the connection now: the stream is closed, handlers' contexts end, calls fail. It does not wait for handlers; [Peer.Wait] does.
func (p *Peer) Close() error {
	p.fail(nil)
	return nil
}

// Shutdown refuses new requests with [ErrBusy], waits until the handlers that run have returned and their answers are written, and closes. If ctx ends
// before, it closes at once and returns the context's error.
func (p *Peer) Shutdown(ctx context.Context) error {
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
		return ctxError(ctx)
	}
}

// Closed is closed as soon as the connection has ended, while handlers may still be on their way out; see Done.
func (p *Peer) Closed() <-chan struct{} { return p.ctx.Done() }

// Done is closed when the peer is, its goroutines have ended and Err is settled.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Wait blocks until the peer is closed and none of its goroutines is left, but for a Read that the
// stream does not end (see [NewPeer]), and returns what Err does.
func (p *Peer) Wait() error {
	<-p.done
	return p.Err()
}

// Err returns why the connection ended: nil while it has not, and after Close or Shutdown; [io.EOF] if the other side closed it between two
// messages; else what went wrong.
func (p *Peer) Err() (err error) {
	p.update(func(s *state) { err = s.err })
	return err
}

// Flush blocks until all that was sent so far has been handed to the stream, or ctx ends.
func (p *Peer) Flush(ctx context.Context) error { return p.out.flush(ctx) }

// AllowBatch switches batches from the other side on or off: in MCP the revision decides, and that is known only after the first message.
func (p *Peer) AllowBatch(on bool) { p.batch.Store(on) }

// post queues a frame and starts a writer if there is none.
func (p *Peer) post(ctx context.Context, head, payload, tail []byte) error {
	if ctx != nil && ctx.Err() != nil {
		return ctxError(ctx)
	}
	if hook := p.o.Hooks.Frame; hook != nil {
		hook(Outbound, slices.Concat(head, payload, tail))
	}
	due, err := p.out.put(ctx, head, payload, tail)
	if due {
		go p.out.write()
	}
	return err
}

// ctxError is the error of a context that has ended, with its cause if it has another.
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

// since is for hooks: nothing is timed without one.
func (h *Hooks) now() (t time.Time) {
	if h.Call != nil {
		t = time.Now()
	}
	return t
}
