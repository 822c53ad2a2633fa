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
	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/contain"
)

// An outbox queues frames and writes all queued frames with one Write. A large frame has its own
// Write, from the memory of its message. At most one goroutine writes, and only while frames are
// queued. When put reports that a writer is due, its caller must call write.
type outbox struct {
	codec        framing.Codec
	finisher     framing.Finisher // codec, or nil if that is not a Finisher
	w            io.Writer
	maxUnsent    int             // bytes queued before senders wait
	maxResponses int             // bytes of responses that may wait for room
	wg           *sync.WaitGroup // counts a writer from the moment it is due
	fail         func(error)     // called with the error of a Write
	othersRun    func() bool     // whether more frames are likely to be queued soon

	mu           sync.Mutex
	queue        []*buffer.Buffer // encoded frames; each buffer is one Write
	open         bool             // the last buffer of the queue takes more frames
	spares       []*buffer.Buffer // memory for the next buffers of small frames
	queued       int              // bytes in the queue
	writing      bool             // a writer runs or is due
	err          error            // if not nil, nothing more is sent
	changed      chan struct{}    // closed when queued, writing or err changes; made on demand
	queuedTotal  int64            // bytes ever queued
	writtenTotal int64            // of these, bytes written
	waitingBytes int              // bytes of responses that wait for room
	parts        [1][]byte        // so that the variadic call does not allocate
}

// maxSpares is how many buffers an outbox keeps: one is written while the other is filled.
const maxSpares = 2

// maxKeptBuffer is the largest buffer that a connection keeps to read into.
const maxKeptBuffer = 4 << 20

// overflowFactor times maxUnsent queued bytes end the connection.
const overflowFactor = 16

// errTooManyResponses means that too many bytes of responses wait for room.
var errTooManyResponses = errors.New(
	"rpc: too many bytes of answers wait for the other side to read")

// put queues a message. It waits for room until ctx ends. With a nil ctx it does not wait, and
// fails the connection if too much is queued. If due is true, the caller must call write. A
// *framing.FrameError means that this message cannot be sent; any other error is final.
//
// The caller must free the message. Without an error, put may have taken its memory.
func (o *outbox) put(ctx context.Context, message *buffer.Buffer) (due bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.add(ctx, message)
}

// putResponse is put for a response. It returns errTooManyResponses if the response would have to
// wait and too many bytes of others wait already. One may always wait.
func (o *outbox) putResponse(
	ctx context.Context, message *buffer.Buffer,
) (due bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && o.queued >= o.maxUnsent {
		size := cap(message.B)
		if o.waitingBytes > 0 && o.waitingBytes+size > o.maxResponses {
			return false, errTooManyResponses
		}
		o.waitingBytes += size
		defer func() { o.waitingBytes -= size }()
	}
	return o.add(ctx, message)
}

// add is put with mu held.
func (o *outbox) add(ctx context.Context, message *buffer.Buffer) (due bool, err error) {
	size := len(message.B)
	// The size of this frame does not count: many small frames could keep a large one waiting
	// forever.
	for o.err == nil && o.queued >= o.maxUnsent {
		if ctx == nil {
			if o.queued+size > overflowFactor*o.maxUnsent {
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
	var added int
	if failure := contain.Call(func() { added, err = o.appendFrame(message) }); failure != nil {
		o.err = &closedError{failure}
		o.wg.Go(func() { o.fail(failure) }) // on a goroutine, because fail locks mu
		return false, o.err
	}
	if err != nil {
		return false, err
	}
	o.queued += added
	o.queuedTotal += int64(added)
	if o.writing {
		return false, nil
	}
	o.writing = true
	o.wg.Add(1)
	return true, nil
}

// appendFrame appends the frame of a message to the queue and returns its size.
func (o *outbox) appendFrame(message *buffer.Buffer) (size int, err error) {
	// A small message in much memory is copied, because only its size counts against maxUnsent.
	if size := len(message.B); o.finisher != nil && size > buffer.Small &&
		cap(message.B) <= size+size/2 {
		frame, err := o.finisher.FinishFrame(message.B)
		if err == nil {
			message.B = frame
			o.queue, o.open = append(o.queue, message.Take()), false
			return len(frame), nil
		}
		if err != errors.ErrUnsupported {
			return 0, err
		}
	}
	var last *buffer.Buffer
	spare := len(o.spares) - 1
	switch {
	case o.open:
		last = o.queue[len(o.queue)-1]
	case spare >= 0:
		last = o.spares[spare]
	default:
		last = new(buffer.Buffer)
	}
	last.Grow(len(message.B) + maxFraming)
	o.parts[0] = message.B
	frames, err := o.codec.AppendFrame(last.B, o.parts[:]...)
	o.parts[0] = nil
	if err != nil {
		return 0, err
	}
	size = len(frames) - len(last.B)
	if last.B = frames; !o.open {
		o.queue, o.open, o.spares = append(o.queue, last), true, o.spares[:max(spare, 0)]
	}
	return size, nil
}

// maxFraming is about how many bytes a frame has besides its payload.
const maxFraming = 64

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
	for o.queued > 0 && o.err == nil {
		if o.queued < smallWrite && o.othersRun() {
			o.yield()
			if o.err != nil {
				break // close has dropped the queue
			}
		}
		frames := o.queue[0]
		if o.queue = slices.Delete(o.queue, 0, 1); len(o.queue) == 0 {
			o.open = false
		}
		o.queued -= len(frames.B)
		o.broadcast()
		if o.writeFrames(frames.B) == nil {
			o.writtenTotal += int64(len(frames.B))
		}
		if cap(frames.B) <= buffer.Small && len(o.spares) < maxSpares {
			frames.B = frames.B[:0]
			o.spares = append(o.spares, frames)
		} else {
			frames.Free()
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

// close drops the queue and makes put fail with err.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.queue, o.open, o.queued = nil, false, 0
	o.broadcast()
}
