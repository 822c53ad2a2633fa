package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
)

// An outbox queues frames and writes all that wait with one Write. At any time at most one goroutine writes, and only while there is
// something to write: whoever queues a frame and finds no writer has to see to it that write is called.
type outbox struct {
	codec        framing.Codec
	w            io.Writer
	maxUnsent    int             // bytes queued from which senders wait
	maxResponses int             // bytes of answers that may wait
	wg           *sync.WaitGroup // counts a writer from the moment that it is due
	fail         func(error)     // told once, of a failed Write

	mu           sync.Mutex
	queued       []byte        // frames, ready to be written
	spare        []byte        // the memory to queue in while queued is being written
	writing      bool          // a goroutine writes, or is due to
	err          error         // nothing is sent any more
	changed      chan struct{} // closed when queued was taken, or all was written, or err is set; made by who waits
	queuedTotal  int64         // bytes that were ever queued
	writtenTotal int64         // of these, what the stream has
	waitingBytes int           // bytes of answers that wait for room
	parts        [3][]byte     // so that the variadic call does not allocate
}

// overflowFactor is how many times the limit ends the connection.
const overflowFactor = 16

// errTooManyResponses is that too much waits already for an answer to wait.
var errTooManyResponses = errors.New("rpc: too many bytes of answers wait for the other side to read")

// put queues one frame made of parts, waiting for room as long as ctx lives; without ctx it does not wait, and overflows. If due is true the caller must call
// write, or have it called. An error of type *framing.FrameError means that this frame can not be sent; others are final.
func (o *outbox) put(ctx context.Context, head, payload, tail []byte) (due bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(ctx, head, payload, tail)
}

// putResponse is put for an answer. The error is errCrowded if it would have to wait and there is no
// room for that; one can always wait.
func (o *outbox) putResponse(ctx context.Context, head, payload, tail []byte) (due bool, err error) {
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

// add is put, with mu.
func (o *outbox) add(ctx context.Context, head, payload, tail []byte) (due bool, err error) {
	size := len(head) + len(payload) + len(tail)
	// The size of what comes does not count, or many small frames could keep a large one out for ever.
	for o.err == nil && len(o.queued) >= o.maxUnsent {
		if ctx == nil {
			if len(o.queued)+size > overflowFactor*o.maxUnsent {
				o.err = &closedError{ErrSlowPeer}
				o.wg.Go(func() { o.fail(ErrSlowPeer) }) // not here: fail wants the lock
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
		o.wg.Go(func() { o.fail(failure) }) // not here: fail wants the lock
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

// await unlocks until something changed. The lock is held when it returns.
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

// write writes until nothing is queued.
func (o *outbox) write() {
	defer o.wg.Done()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queued) > 0 && o.err == nil {
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

// writeFrames writes frames to the stream, without the lock, and fails if that does.
func (o *outbox) writeFrames(frames []byte) (err error) {
	o.mu.Unlock()
	defer o.mu.Lock()
	err = errExited // unless Write returns
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

// close refuses what comes from now on and forgets what is queued.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.queued = nil
	o.broadcast()
}
