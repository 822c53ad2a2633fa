package proc

import (
	"context"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc/internal/ring"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
)

// An output holds the last output of a process.
type output struct {
	mu      sync.Mutex
	ring    ring.Ring
	next    int64         // where the next read without a cursor continues
	changed chan struct{} // closed at the next write; nil while nobody waits
}

func (o *output) write(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ring.Write(p)
	if o.changed != nil && len(p) > 0 {
		close(o.changed)
		o.changed = nil
	}
}

// total returns the number of bytes written so far.
func (o *output) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ring.End
}

// The conditions that a read can wait for.
const (
	untilNow     = "now"
	untilOutput  = "output"
	untilPattern = "pattern"
	untilExit    = "exit"
)

// A readQuery is the input of a read.
type readQuery struct {
	cursor *int64 // start offset; nil for the end of the last read
	max    int64  // bytes
	until  string
	search *ring.Search // for untilPattern
	wait   time.Duration
}

// A readResult is the result of a read.
type readResult struct {
	text    string
	cursor  int64 // offset of the end of text
	dropped int64 // number of bytes lost before text
	more    bool
	matched bool
}

// read blocks until the condition of the query holds, the result is full, the process has ended, or
// the time has run out, and returns the output so far. If ctx ends, it returns an error and reads
// nothing.
func (s *session) read(ctx context.Context, q readQuery) (readResult, Status, error) {
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	for final := q.until == untilNow; ; {
		status := s.status() // before poll: after the end, the output is complete
		found, changed, err := s.output.poll(q, final || !status.Running)
		if err != nil || changed == nil {
			return found, status, err
		}
		select {
		case <-changed:
		case <-s.ended:
		case <-timer.C:
			final = true
		case <-ctx.Done():
			return readResult{}, status, ctx.Err()
		}
	}
}

// poll reads if the condition of the query holds, or if final is set. Otherwise it returns a
// channel that is closed at the next output.
func (o *output) poll(q readQuery, final bool) (result readResult, changed <-chan struct{},
	err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := o.next
	if q.cursor != nil {
		from = *q.cursor
	}
	if from > o.ring.End {
		return result, nil, dispatch.InvalidArgument("/cursor",
			"%d is beyond the end of the output, which has %d bytes so far", from, o.ring.End)
	}
	if start := o.ring.Start(); from < start {
		result.dropped, from = start-from, start
	}
	limit := from + min(q.max, int64(o.ring.Size))
	to := min(limit, o.ring.End)
	enough := to == limit // the result is full
	switch q.until {
	case untilOutput:
		enough = to > from
	case untilPattern:
		var end int64
		if end, result.matched = q.search.Find(&o.ring, from, to); result.matched {
			to, enough = end, true
		}
	}
	if !enough && !final {
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		return result, o.changed, nil
	}
	data := o.ring.Slice(from, to)
	if to < o.ring.End && !result.matched {
		data = printable.TrimPartialRune(data)
	}
	result.text = ring.Text(data)
	result.cursor = from + int64(len(data))
	result.more = result.cursor < o.ring.End
	o.next = result.cursor
	return result, nil, nil
}

// tail reads the last unread bytes, at most limit.
func (o *output) tail(limit int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := max(o.next, o.ring.Start(), o.ring.End-limit)
	data := o.ring.Slice(from, o.ring.End)
	if from > o.next {
		data = ring.SkipPartialRune(data)
	}
	o.next = o.ring.End
	return ring.Text(data)
}
