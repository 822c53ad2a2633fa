package grep

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
)

// Slots bounds the processor time of all searches together. A scan of a file holds one unit of the
// pool while it runs. Principals have shares of the pool and get units in turn, so that an
// expensive search delays others only for moments.
type Slots struct {
	pool    *quota.Pool
	buffers sync.Pool // of *lineBuffer
}

const (
	maxHold    = 100 * time.Millisecond // after which a scan releases its unit to others
	maxBlock   = 16 << 10               // bytes to search before a scan checks the time
	maxWorkers = 8                      // concurrent scans of one search
)

// NewSlots returns a pool of as many units as there are processors.
func NewSlots() *Slots {
	return &Slots{
		pool: quota.NewPool(int64(max(2, runtime.GOMAXPROCS(0)))),
		buffers: sync.Pool{New: func() any {
			return &lineBuffer{bufio.NewReaderSize(nil, maxLine)}
		}},
	}
}

// workers returns the maximum number of concurrent scans of one search.
func (s *Slots) workers() int { return int(min(s.pool.Total(), maxWorkers)) }

// Memory returns the maximum memory of one search in bytes.
func (s *Slots) Memory() int64 { return int64(s.workers()) * maxLine }

// A slot is what a scan needs to run: a unit of the pool, and a buffer.
type slot struct {
	*Slots
	ctx    context.Context
	owner  string
	buffer *lineBuffer
	since  time.Time // when it got its unit
	held   bool      // whether it has its unit
}

// begin waits for a slot, in the share of the call's principal. The caller must call end.
func (s *Slots) begin(ctx context.Context) (*slot, error) {
	own := &slot{Slots: s, ctx: ctx}
	if call := dispatch.CallFrom(ctx); call != nil {
		own.owner = call.Principal
	}
	if err := own.enter(); err != nil {
		return nil, err
	}
	own.buffer = s.buffers.Get().(*lineBuffer)
	return own, nil
}

func (s *slot) enter() error {
	if err := s.pool.Wait(s.ctx, s.owner, 1); err != nil {
		return err
	}
	s.held, s.since = true, time.Now()
	return nil
}

func (s *slot) leave() {
	if s.held {
		s.held = false
		s.pool.Give(s.owner, 1)
	}
}

// end releases the slot and its buffer.
func (s *slot) end() {
	s.leave()
	s.buffer.Reset(nil)
	s.buffers.Put(s.buffer)
}

// from returns the buffer, which reads from file. A read after maxHold releases the unit and
// waits for another.
func (s *slot) from(file io.Reader) *lineBuffer {
	s.buffer.Reset(slotReader{s, file})
	return s.buffer
}

type slotReader struct {
	*slot
	file io.Reader
}

func (b slotReader) Read(p []byte) (int, error) {
	if time.Since(b.since) > maxHold {
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
