package telemetry

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"
)

// A vector is the series of one instrument. Finding a series that exists takes no lock and
// allocates nothing.
type vector[K comparable, S any] struct {
	max      int
	attrs    func(K) []slog.Attr
	series   table[K, *series[K, S]]
	last     atomic.Pointer[series[K, S]] // found last; comparing keys costs less than a search
	overflow atomic.Pointer[S]            // of all keys that found no room
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
func (v *vector[K, S]) at(key K) *S {
	if s := v.last.Load(); s != nil && s.key == key {
		return &s.value
	}
	if s, ok := v.series.get(key); ok {
		v.last.Store(s)
		return &s.value
	}
	if s := v.overflow.Load(); s != nil {
		return s
	}
	if s, ok := v.series.add(key, v.max-1,
		func() *series[K, S] { return &series[K, S]{key: key} }); ok {
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
	counts [len(durationBounds) + 1]atomic.Uint64
	sum    atomic.Uint64 // the bits of a float64, in seconds
}

func (h *histogram) record(d time.Duration) {
	seconds := max(d, 0).Seconds()
	i := 0
	for i < len(durationBounds) && seconds > durationBounds[i] {
		i++
	}
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+seconds)) {
			return
		}
	}
}

func (h *histogram) buckets() (counts []uint64, sum float64) {
	counts = make([]uint64, len(h.counts))
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
	}
	return counts, math.Float64frombits(h.sum.Load())
}
