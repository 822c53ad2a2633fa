package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	senders      []chan struct{}  // those that wait for room, in the order of arrival
	flushed      chan struct{}    // closed when writtenTotal or err changes; made on demand
	queuedTotal  int64            // bytes ever queued
	writtenTotal int64            // of these, bytes written
	waitingBytes atomic.Int64     // bytes of responses that wait for room; changed under mu
	roomForAll   chan struct{}    // closed when these are few; made on demand
	unread       bool             // while they are many, the other side has stopped reading
	parts        [1][]byte        // so that the variadic call does not allocate
}

// maxSpares is how many buffers an outbox keeps: one is written while the other is filled.
const maxSpares = 2

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
	if o.err == nil && o.full() {
		size, waiting := int64(cap(message.B)), o.waitingBytes.Load()
		if waiting > 0 && waiting+size > int64(o.maxResponses) {
			return false, errTooManyResponses
		}
		o.waitingBytes.Add(size)
		defer o.stopWaiting(size)
	}
	return o.add(ctx, message)
}

// stopWaiting subtracts a response that waits no longer.
func (o *outbox) stopWaiting(size int64) {
	if o.waitingBytes.Add(-size); !o.manyWait() {
		o.unread = false
		if o.roomForAll != nil {
			close(o.roomForAll)
			o.roomForAll = nil
		}
	}
}

func (o *outbox) manyWait() bool { return o.waitingBytes.Load() >= int64(o.maxUnsent) }

// unreadPatience is how long the reader waits for the other side to read responses.
const unreadPatience = 200 * time.Millisecond

// awaitReading blocks the reader while many bytes of responses wait, so that there are not more of
// them. The other side may read only when all it has to say has been read. So if it reads nothing
// for unreadPatience, the reader waits no more until few bytes wait.
func (o *outbox) awaitReading(ctx context.Context) {
	if !o.manyWait() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.manyWait() && !o.unread {
		if o.roomForAll == nil {
			o.roomForAll = make(chan struct{})
		}
		written := o.writtenTotal
		patience, cancel := context.WithTimeout(ctx, unreadPatience)
		err := o.await(patience, o.roomForAll)
		cancel()
		o.unread = o.manyWait() && err != nil && o.writtenTotal == written
	}
}

// add is put with mu held.
func (o *outbox) add(ctx context.Context, message *buffer.Buffer) (due bool, err error) {
	if o.err == nil && o.full() {
		if ctx != nil {
			defer o.wakeSender() // the next one, after this frame
			if err := o.awaitRoom(ctx); err != nil {
				return false, err
			}
		} else if o.queued+len(message.B) > overflowFactor*o.maxUnsent {
			o.err = &closedError{ErrSlowPeer}
			o.wg.Go(func() { o.fail(ErrSlowPeer) }) // on a goroutine, because fail locks mu
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

// full reports whether a sender must wait. The size of its frame does not count: many small frames
// could keep a large one waiting forever.
func (o *outbox) full() bool { return o.queued >= o.maxUnsent || len(o.senders) > 0 }

// awaitRoom waits for room, with mu unlocked, behind all senders that wait already. It returns with
// mu held. The caller must call wakeSender when it has queued its frame, or failed to.
func (o *outbox) awaitRoom(ctx context.Context) error {
	turn := make(chan struct{}, 1)
	o.senders = append(o.senders, turn)
	err := o.await(ctx, turn)
	o.senders = slices.DeleteFunc(o.senders, func(c chan struct{}) bool { return c == turn })
	return err
}

// wakeSender wakes the sender that waits longest if there is room.
func (o *outbox) wakeSender() {
	if len(o.senders) > 0 && (o.queued < o.maxUnsent || o.err != nil) {
		select {
		case o.senders[0] <- struct{}{}:
		default: // it has been woken
		}
	}
}

// await waits for an event, with mu unlocked. It returns with mu held.
func (o *outbox) await(ctx context.Context, event <-chan struct{}) error {
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}

// wakeFlush lets those that wait in flush look again.
func (o *outbox) wakeFlush() {
	if o.flushed != nil {
		close(o.flushed)
		o.flushed = nil
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
		o.wakeSender()
		if o.writeFrames(frames.B) == nil {
			o.writtenTotal += int64(len(frames.B))
			o.wakeFlush()
		}
		if cap(frames.B) <= buffer.Small && len(o.spares) < maxSpares {
			frames.B = frames.B[:0]
			o.spares = append(o.spares, frames)
		} else {
			frames.Free()
		}
	}
	o.writing = false
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
		if o.flushed == nil {
			o.flushed = make(chan struct{})
		}
		if err := o.await(ctx, o.flushed); err != nil {
			return err
		}
	}
	return nil
}

// close drops the queue and makes put fail with err.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
	o.queue, o.open, o.queued = nil, false, 0
	o.wakeSender() // which wakes the next
	o.wakeFlush()
}
