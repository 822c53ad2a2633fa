package telemetry

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// A vector is the series of one instrument. Finding a series that exists takes no lock and
// allocates nothing.
type vector[K comparable, S any] struct {
	max      int
	attrs    func(K) []slog.Attr
	series   table[K, *series[K, S]]
	last     atomic.Pointer[series[K, S]] // the last one found; comparing keys beats a search
	overflow atomic.Pointer[S]            // shared by all keys for which there was no room
}

// A series is a value with its key.
type series[K comparable, S any] struct {
	key   K
	value S
}

func newVector[K comparable, S any](max int, attrs func(K) []slog.Attr) *vector[K, S] {
	return &vector[K, S]{max: max, attrs: attrs}
}

// at returns the series of a key. The overflow is one of max series.
func (v *vector[K, S]) at(key *K) *S {
	if s := v.last.Load(); s != nil && s.key == *key {
		return &s.value
	}
	if s, ok := v.series.get(*key); ok {
		v.last.Store(s)
		return &s.value
	}
	if s := v.overflow.Load(); s != nil {
		return s
	}
	if s, ok := v.series.add(*key, v.max-1,
		func() *series[K, S] { return &series[K, S]{key: *key} }); ok {
		return &s.value
	}
	v.overflow.CompareAndSwap(nil, new(S))
	return v.overflow.Load()
}

var overflowAttrs = []slog.Attr{slog.Bool(attrOverflow, true)}

// each calls f with all series in no particular order.
func (v *vector[K, S]) each(f func(attrs []slog.Attr, s *S)) {
	for key, s := range v.series.all() {
		f(v.attrs(key), &s.value)
	}
	if s := v.overflow.Load(); s != nil {
		f(overflowAttrs, s)
	}
}

// A histogram counts durations. The zero value is empty.
type histogram struct {
	// overflows is how often nanoseconds overflowed: many concurrent calls fill it within weeks.
	overflows   atomic.Uint64
	nanoseconds atomic.Uint64 // the sum
	counts      [len(durationBounds) + 1]atomic.Uint64
}

func (h *histogram) record(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(durationBounds) && d > durationBounds[i] {
		i++
	}
	h.counts[i].Add(1)
	if h.nanoseconds.Add(uint64(d)) < uint64(d) {
		h.overflows.Add(1)
	}
}

func (h *histogram) buckets() (counts []uint64, sum float64) {
	counts = make([]uint64, len(h.counts))
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
	}
	nanoseconds := float64(h.overflows.Load())*(1<<64) + float64(h.nanoseconds.Load())
	return counts, nanoseconds / float64(time.Second)
}
