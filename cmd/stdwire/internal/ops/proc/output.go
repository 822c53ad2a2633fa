package proc

import (
	"context"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// An output is what a process has written, the last of it at least.
type output struct {
	mu      sync.Mutex
	ring    ring
	next    int64         // where the next read goes on that does not say where
	changed chan struct{} // closed when there is more; nil while nobody waits for that
}

func (o *output) write(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ring.write(p)
	if o.changed != nil && len(p) > 0 {
		close(o.changed)
		o.changed = nil
	}
}

// total returns how many bytes there were.
func (o *output) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ring.end
}

// What a read waits for.
const (
	untilNow     = "now"
	untilOutput  = "output"
	untilPattern = "pattern"
	untilExit    = "exit"
)

// A query is what somebody wants to read.
type query struct {
	cursor *int64 // from where; nil: where the last read ended
	max    int64  // bytes
	until  string
	search *search // for untilPattern
	wait   time.Duration
}

// A part is what was read.
type part struct {
	text    string
	cursor  int64 // behind text
	dropped int64 // bytes before it that are lost
	more    bool
	matched bool
}

// read blocks until there is what the query waits for, or as much as it takes, or the process has ended, or the time is over: whatever there
// is then, it returns. It fails when ctx has ended, and then has read nothing.
func (s *session) read(ctx context.Context, q query) (part, Status, error) {
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	for last := q.until == untilNow; ; {
		status := s.status() // before the output is looked at: when it has ended, all is there
		found, changed, err := s.output.look(q, last || !status.Running)
		if err != nil || changed == nil {
			return found, status, err
		}
		select {
		case <-changed:
		case <-s.ended:
		case <-timer.C:
			last = true
		case <-ctx.Done():
			return part{}, status, ctx.Err()
		}
	}
}

// look reads, if there is what the query waits for, or in any case if it is the last look. Otherwise it returns a channel that is closed when there
// is more to look at.
func (o *output) look(q query, last bool) (p part, changed <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := o.next
	if q.cursor != nil {
		from = *q.cursor
	}
	if from > o.ring.end {
		return p, nil, dispatch.InvalidArgument("/cursor", "%d is behind the end of the output, which has %d bytes so far", from, o.ring.end)
	}
	if start := o.ring.start(); from < start {
		p.dropped, from = start-from, start
	}
	limit := from + min(q.max, int64(o.ring.size))
	to := min(limit, o.ring.end)
	enough := to == limit // waiting for more would let this be lost
	switch q.until {
	case untilOutput:
		enough = to > from
	case untilPattern:
		var end int64
		if end, p.matched = q.search.find(&o.ring, from, to); p.matched {
			to, enough = end, true
		}
	}
	if !enough && !last {
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		return p, o.changed, nil
	}
	data := o.ring.slice(from, to)
	if to < o.ring.end && !p.matched {
		data = wholeRunes(data)
	}
	p.text = text(data)
	p.cursor = from + int64(len(data))
	p.more = p.cursor < o.ring.end
	o.next = p.cursor
	return p, nil, nil
}

// tail returns the last of what nobody has read, at most that many bytes, and takes it for read.
func (o *output) tail(limit int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := max(o.next, o.ring.start(), o.ring.end-limit)
	data := o.ring.slice(from, o.ring.end)
	if from > o.next {
		data = fromRune(data)
	}
	o.next = o.ring.end
	return text(data)
}
