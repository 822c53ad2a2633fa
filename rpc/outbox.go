package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
)

// An outbox queues frames and writes all queued frames with one Write. At most one goroutine
// writes, and only while frames are queued. When put reports that a writer is due, its caller must
// call write.
type outbox struct {
	codec        framing.Codec
	w            io.Writer
	maxUnsent    int             // bytes queued before senders wait
	maxResponses int             // bytes of responses that may wait for room
	wg           *sync.WaitGroup // counts a writer from the moment it is due
	fail         func(error)     // called with the error of a Write
	othersRun    func() bool     // whether more frames are likely to be queued soon

	mu           sync.Mutex
	queued       []byte        // encoded frames
	spare        []byte        // memory to queue in while queued is written
	writing      bool          // a writer runs or is due
	err          error         // if not nil, nothing more is sent
	changed      chan struct{} // closed when queued, writing or err changes; made by whoever waits
	queuedTotal  int64         // bytes ever queued
	writtenTotal int64         // of these, bytes written
	waitingBytes int           // bytes of responses that wait for room
	parts        [3][]byte     // so that the variadic call does not allocate
}

// maxKeptBuffer is the largest buffer that a connection keeps: one to read into, two to write.
const maxKeptBuffer = 4 << 20

// overflowFactor times maxUnsent queued bytes end the connection.
const overflowFactor = 16

// errTooManyResponses means that too many bytes of responses wait for room.
var errTooManyResponses = errors.New(
	"rpc: too many bytes of answers wait for the other side to read")

// put queues one frame made of parts. It waits for room until ctx ends. With a nil ctx it does not
// wait, and fails the connection if too much is queued. If due is true, the caller must call write.
// A *framing.FrameError means that this frame cannot be sent; any other error is final.
func (o *outbox) put(ctx context.Context, head, payload, tail []byte) (due bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(ctx, head, payload, tail)
}

// putResponse is put for a response. It returns errTooManyResponses if the response would have to
// wait and too many bytes of others wait already. One may always wait.
func (o *outbox) putResponse(
	ctx context.Context, head, payload, tail []byte,
) (due bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && len(o.queued) >= o.maxUnsent {
		size := len(head) + cap(payload)
		if o.waitingBytes > 0 && o.waitingBytes+size > o.maxResponses {
			return false, errTooManyResponses
		}
		o.waitingBytes += size
		defer func() { o.waitingBytes -= size }()
	}
	return o.add(ctx, head, payload, tail)
}

// add is put with mu held.
func (o *outbox) add(ctx context.Context, head, payload, tail []byte) (due bool, err error) {
	size := len(head) + len(payload) + len(tail)
	// The size of this frame does not count: many small frames could keep a large one waiting
	// forever.
	for o.err == nil && len(o.queued) >= o.maxUnsent {
		if ctx == nil {
			if len(o.queued)+size > overflowFactor*o.maxUnsent {
				o.err = &closedError{ErrSlowPeer}
				o.wg.Go(func() { o.fail(ErrSlowPeer) }) // on a goroutine, because fail locks mu
			}
			break
		}
		if err := o.await(ctx); err != nil {
			return false, err
		}
	}
	if o.err != nil {
		return false, o.err
	}
	o.parts = [3][]byte{head, payload, tail}
	before := len(o.queued)
	o.queued = slices.Grow(o.queued, size+64)
	failure := contain.Call(func() { o.queued, err = o.codec.AppendFrame(o.queued, o.parts[:]...) })
	o.parts = [3][]byte{}
	if failure != nil {
		o.queued = o.queued[:before]
		o.err = &closedError{failure}
		o.wg.Go(func() { o.fail(failure) }) // on a goroutine, because fail locks mu
		return false, o.err
	}
	if err != nil {
		return false, err
	}
	o.queuedTotal += int64(len(o.queued) - before)
	if o.writing {
		return false, nil
	}
	o.writing = true
	o.wg.Add(1)
	return true, nil
}

// await waits for changed, with mu unlocked. It returns with mu held.
func (o *outbox) await(ctx context.Context) error {
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	changed := o.changed
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

func (o *outbox) broadcast() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// write writes until no frame is queued.
func (o *outbox) write() {
	defer o.wg.Done()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queued) > 0 && o.err == nil {
		if len(o.queued) < smallWrite && o.othersRun() {
			o.yield()
		}
		frames := o.queued
		o.queued, o.spare = o.spare[:0], nil
		o.broadcast()
		if o.writeFrames(frames) == nil {
			o.writtenTotal += int64(len(frames))
		}
		if cap(frames) <= maxKeptBuffer {
			o.spare = frames[:0]
		}
	}
	o.writing = false
	o.broadcast()
}

// smallWrite is the size of a Write, in bytes, below which the writer first lets other goroutines
// queue frames.
const smallWrite = 1 << 10

// yield lets goroutines that are ready run, with mu unlocked. That costs much less than the system
// calls it saves.
func (o *outbox) yield() {
	o.mu.Unlock()
	runtime.Gosched()
	o.mu.Lock()
}

// writeFrames writes frames to the stream with mu unlocked. It calls fail on an error.
func (o *outbox) writeFrames(frames []byte) (err error) {
	o.mu.Unlock()
	defer o.mu.Lock()
	err = errExited // if Write calls runtime.Goexit
	defer func() {
		if err != nil {
			o.fail(err) // sets o.err
		}
	}()
	if failure := contain.Call(func() { _, err = o.w.Write(frames) }); failure != nil {
		err = fmt.Errorf("rpc: writing: %w", failure)
	}
	return err
}

// flush waits until everything queued so far has been written.
func (o *outbox) flush(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for all := o.queuedTotal; o.writtenTotal < all; {
		if o.err != nil {
			return o.err
		}
		if err := o.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close drops what is queued and makes put fail with err.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.queued = nil
	o.broadcast()
}
