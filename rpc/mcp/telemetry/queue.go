package telemetry

import "sync"

// A spanQueue holds finished spans until they are exported. When it is full, it drops new ones.
type spanQueue struct {
	maxSpans, maxBytes int
	ready              chan struct{} // has a value while the queue is at least half full

	mu      sync.Mutex
	spans   []Span
	bytes   int
	dropped uint64
}

func (q *spanQueue) init(maxSpans, maxBytes int) {
	q.maxSpans, q.maxBytes, q.ready = maxSpans, maxBytes, make(chan struct{}, 1)
}

// put adds a copy of s. It keeps no span at all if the queue was made to keep none, and does not
// count those as dropped.
func (q *spanQueue) put(s *Span) {
	if q.maxSpans < 0 {
		return
	}
	size := s.size()
	q.mu.Lock()
	if len(q.spans) >= q.maxSpans || q.bytes+size > q.maxBytes {
		q.dropped++
		q.mu.Unlock()
		return
	}
	q.spans = append(q.spans, *s)
	q.bytes += size
	half := len(q.spans) >= (q.maxSpans+1)/2 || q.bytes >= q.maxBytes/2
	q.mu.Unlock()
	if half {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	}
}

// TakeSpans removes up to max finished spans, the oldest first, and appends them to dst. The caller
// owns them.
func (t *Telemetry) TakeSpans(dst []Span, max int) []Span {
	q := &t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(max, len(q.spans))
	for i := range q.spans[:n] {
		q.bytes -= q.spans[i].size()
	}
	dst = append(dst, q.spans[:n]...)
	left := copy(q.spans, q.spans[n:])
	clear(q.spans[left:])
	q.spans = q.spans[:left]
	return dst
}

// SpansReady returns a channel that receives a value when the queue of finished spans is half full,
// so that an exporter need not wait for its next interval.
func (t *Telemetry) SpansReady() <-chan struct{} { return t.queue.ready }

// DroppedSpans returns how many sampled spans were dropped because the queue was full.
func (t *Telemetry) DroppedSpans() uint64 {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.queue.dropped
}
