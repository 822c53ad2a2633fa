package telemetry

import (
	"sync"

	"github.com/stdwire/stdwire/internal/wake"
)

// A spanQueue holds finished spans until they are exported. When it is full, it drops new ones.
type spanQueue struct {
	maxSpans, maxBytes int
	ready              chan struct{} // has a value while the queue is at least half full

	mu      sync.Mutex
	chunks  [][]Span // the oldest first; only the last one has room
	spare   [][]Span // empty chunks, at most maxSpare
	count   int
	bytes   int
	dropped uint64
}

const (
	chunkSpans = 64 // spans of a chunk; they are copied while the queue is not locked
	maxSpare   = 16
)

func (q *spanQueue) init(maxSpans, maxBytes int) {
	q.maxSpans, q.maxBytes, q.ready = maxSpans, maxBytes, make(chan struct{}, 1)
}

// keeps reports whether the queue was made to keep spans at all.
func (q *spanQueue) keeps() bool { return q.maxSpans >= 0 }

// put adds a copy of s. If the queue keeps none, that does not count as dropped.
func (q *spanQueue) put(s *Span) {
	if !q.keeps() {
		return
	}
	size := s.size()
	q.mu.Lock()
	if q.count >= q.maxSpans || q.bytes+size > q.maxBytes {
		q.dropped++
		q.mu.Unlock()
		return
	}
	last := len(q.chunks) - 1
	if last < 0 || len(q.chunks[last]) == cap(q.chunks[last]) {
		q.chunks = append(q.chunks, q.newChunk())
		last++
	}
	q.chunks[last] = append(q.chunks[last], *s)
	q.count++
	q.bytes += size
	half := q.count >= (q.maxSpans+1)/2 || q.bytes >= q.maxBytes/2
	q.mu.Unlock()
	if half {
		wake.Up(q.ready)
	}
}

// newChunk returns an empty chunk. The caller holds mu.
func (q *spanQueue) newChunk() []Span {
	last := len(q.spare) - 1
	if last < 0 {
		return make([]Span, 0, min(chunkSpans, q.maxSpans))
	}
	chunk := q.spare[last]
	q.spare = q.spare[:last]
	return chunk
}

// TakeSpans removes up to max finished spans, the oldest first, and appends them to dst. The caller
// owns them.
func (t *Telemetry) TakeSpans(dst []Span, max int) []Span {
	for max > 0 {
		chunk := t.queue.take(max)
		if len(chunk) == 0 {
			break
		}
		dst = append(dst, chunk...)
		max -= len(chunk)
		t.queue.recycle(chunk)
	}
	return dst
}

// take removes up to max spans that are in one chunk.
func (q *spanQueue) take(max int) (chunk []Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks) == 0 {
		return nil
	}
	if chunk = q.chunks[0]; len(chunk) > max {
		chunk, q.chunks[0] = chunk[:max:max], chunk[max:]
	} else {
		q.chunks[0] = nil
		q.chunks = q.chunks[1:]
	}
	q.count -= len(chunk)
	for i := range chunk {
		q.bytes -= chunk[i].size()
	}
	return chunk
}

// recycle keeps a chunk that take returned, for later spans.
func (q *spanQueue) recycle(chunk []Span) {
	clear(chunk)
	if cap(chunk) < chunkSpans {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.spare) < maxSpare {
		q.spare = append(q.spare, chunk[:0])
	}
}

// SpansReady returns a channel that receives a value when the queue of finished spans is half full,
// so that an exporter need not wait for its next interval.
func (t *Telemetry) SpansReady() <-chan struct{} { return t.queue.ready }

// droppedSpans returns how many sampled spans were dropped because the queue was full.
func (t *Telemetry) droppedSpans() uint64 {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.queue.dropped
}
