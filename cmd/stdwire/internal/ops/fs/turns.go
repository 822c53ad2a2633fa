package fs

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/quota"
)

// turns bounds what all searches together take of the processors. A scan of a file has a place
// while it runs. Principals have shares of the places, and one that has waited for a place gets it
// in turn: an expensive search delays those of others by moments.
type turns struct {
	places *quota.Pool
	spare  sync.Pool // of *lineBuffer
}

const (
	longestTurn = 100 * time.Millisecond // after which a scan lets others go first
	maxBlock    = 16 << 10               // bytes that are searched before a scan looks at the time
	maxWorkers  = 8                      // scans of one search at a time
)

func newTurns() *turns {
	return &turns{
		places: quota.NewPool(int64(max(2, runtime.GOMAXPROCS(0)))),
		spare:  sync.Pool{New: func() any { return &lineBuffer{bufio.NewReaderSize(nil, maxLine)} }},
	}
}

// workers is how many scans of one search there may be at a time.
func (t *turns) workers() int { return int(min(t.places.Total(), maxWorkers)) }

// A turn is one scan's buffer and place.
type turn struct {
	*turns
	ctx    context.Context
	owner  string
	buffer *lineBuffer
	since  time.Time // when it got its place
	placed bool
}

// begin waits for a place, in the name of the call's principal. The turn is to be ended.
func (t *turns) begin(ctx context.Context) (*turn, error) {
	own := &turn{turns: t, ctx: ctx}
	if call := dispatch.CallFrom(ctx); call != nil {
		own.owner = call.Principal
	}
	if err := own.enter(); err != nil {
		return nil, err
	}
	own.buffer = t.spare.Get().(*lineBuffer)
	return own, nil
}

func (t *turn) enter() error {
	if err := t.places.Wait(t.ctx, t.owner, 1); err != nil {
		return err
	}
	t.placed, t.since = true, time.Now()
	return nil
}

func (t *turn) leave() {
	if t.placed {
		t.placed = false
		t.places.Give(t.owner, 1)
	}
}

// end gives back everything.
func (t *turn) end() {
	t.leave()
	t.buffer.Reset(nil)
	t.spare.Put(t.buffer)
}

// from has the buffer read from a file. A read waits for another turn when this one has lasted long
// enough.
func (t *turn) from(file io.Reader) *lineBuffer {
	t.buffer.Reset(blocks{t, file})
	return t.buffer
}

type blocks struct {
	*turn
	file io.Reader
}

func (b blocks) Read(p []byte) (int, error) {
	if time.Since(b.since) > longestTurn {
		b.leave()
		if err := b.enter(); err != nil {
			return 0, err
		}
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.file.Read(p[:min(len(p), maxBlock)])
}
