package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/wake"
)

// A Memory is a store of one process. The zero Memory is ready for use and holds at most 256 MiB.
type Memory struct {
	// MaxBytes is how much the store holds, with entryCost for each key and event; 0 is 256 MiB.
	MaxBytes int64

	buckets rate.Limiter

	mu      sync.Mutex
	entries map[string]*entry // by a letter for what it is, and the key
	fence   int64             // the last that a lease got
	bytes   int64
	sweepAt int // the number of entries at which those that have expired are removed
	swept   time.Time
	readers map[string][]*memorySubscription
}

var _ Store = (*Memory)(nil)

const (
	entryCost     = 256
	minSweep      = 1024
	defaultMemory = 256 << 20
	maxMessages   = 1024 // that wait for the reader of a subscription
)

// An entry is a value, a lease or a log.
type entry struct {
	expires time.Time // zero: never
	bytes   int64     // what it counts
	data    []byte    // of a value, or of a lease that somebody has
	fence   int64     // of a lease
	log     []Event
	before  int64 // the number of the event before the first one of the log
}

// entry returns what there is, or nil. The caller holds mu.
func (m *Memory) entry(name string) *entry {
	e := m.entries[name]
	if e != nil && !e.expires.IsZero() && !time.Now().Before(e.expires) {
		m.remove(name)
		return nil
	}
	return e
}

func (m *Memory) remove(name string) {
	if e := m.entries[name]; e != nil {
		m.bytes -= e.bytes
		delete(m.entries, name)
	}
}

// set stores an entry that counts that many bytes. The caller holds mu.
func (m *Memory) set(name string, e *entry, size int64, ttl time.Duration) error {
	size += entryCost + int64(len(name))
	most := cmp.Or(m.MaxBytes, defaultMemory)
	if old := m.entries[name]; old != nil {
		size -= old.bytes
	}
	if m.bytes+size > most && time.Since(m.swept) >= time.Second ||
		len(m.entries) >= max(m.sweepAt, minSweep) {
		for other := range m.entries {
			if other != name {
				m.entry(other) // removes it if it has expired
			}
		}
		m.sweepAt, m.swept = 2*len(m.entries), time.Now()
	}
	if m.bytes+size > most {
		return fmt.Errorf("%w: it holds %d of %d bytes", ErrFull, m.bytes, most)
	}
	if old := m.entries[name]; old != nil {
		size += old.bytes
		m.bytes -= old.bytes
	}
	e.bytes, e.expires = size, expiry(ttl)
	m.bytes += size
	if m.entries == nil {
		m.entries = map[string]*entry{}
	}
	m.entries[name] = e
	return nil
}

func expiry(ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(milliseconds(ttl)) * time.Millisecond)
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry("v" + key); e != nil {
		return bytes.Clone(e.data), nil
	}
	return nil, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, key string, value []byte, when Condition,
	ttl time.Duration) (bool, error) {
	if err := check(value, ttl, 0); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry("v" + key)
	if when == IfAbsent && e != nil || when == IfPresent && e == nil {
		return false, nil
	}
	err := m.set("v"+key, &entry{data: append([]byte{}, value...)}, int64(len(value)), ttl)
	return err == nil, err
}

// Take implements [Store].
func (m *Memory) Take(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry("v" + key)
	if e == nil {
		return nil, nil
	}
	m.remove("v" + key)
	return e.data, nil
}

// Acquire implements [Store].
func (m *Memory) Acquire(_ context.Context, key string, data []byte, ttl time.Duration) (Lease,
	bool, error) {
	if err := check(data, ttl, time.Millisecond); err != nil {
		return Lease{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.held(key); e != nil {
		return e.lease(), false, nil
	}
	e := &entry{data: append([]byte{}, data...), fence: m.nextFence()}
	if err := m.set("l"+key, e, int64(len(data)), ttl); err != nil {
		return Lease{}, false, err
	}
	return e.lease(), true, nil
}

// nextFence returns a larger number than all before, also within one tick of the clock. The caller
// holds mu.
func (m *Memory) nextFence() int64 {
	m.fence = max(time.Now().UnixMicro(), m.fence+1)
	return m.fence
}

func (e *entry) lease() Lease { return Lease{Fence: e.fence, Data: bytes.Clone(e.data)} }

// held returns a lease that somebody has, or nil. The caller holds mu.
func (m *Memory) held(key string) *entry {
	if e := m.entry("l" + key); e != nil && e.data != nil {
		return e
	}
	return nil
}

// Holder implements [Store].
func (m *Memory) Holder(_ context.Context, key string) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.held(key); e != nil {
		l := e.lease()
		l.Left = time.Until(e.expires)
		return l, nil
	}
	if e := m.entry("l" + key); e != nil {
		return Lease{Fence: e.fence}, nil
	}
	return Lease{}, nil
}

// Renew implements [Store].
func (m *Memory) Renew(_ context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if err := checkTTL(ttl, time.Millisecond); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.held(key)
	if e == nil || e.fence != fence {
		return false, nil
	}
	e.expires = expiry(ttl)
	return true, nil
}

// Replace implements [Store].
func (m *Memory) Replace(_ context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (Lease, bool, error) {
	if err := check(data, ttl, time.Millisecond); err != nil {
		return Lease{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.held(key)
	if e == nil || e.fence != fence {
		return Lease{}, false, nil
	}
	changed := &entry{data: append([]byte{}, data...), fence: m.nextFence()}
	if err := m.set("l"+key, changed, int64(len(data)), ttl); err != nil {
		return Lease{}, false, err
	}
	return changed.lease(), true, nil
}

// Release implements [Store].
func (m *Memory) Release(_ context.Context, key string, fence int64, within time.Duration) (bool,
	error) {
	if err := checkTTL(within, 0); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.held(key)
	if e == nil || e.fence != fence || within > 0 && time.Until(e.expires) > within {
		return false, nil
	}
	e.data = nil // the number stays, so that the next is larger
	return true, nil
}

// Append implements [Store].
func (m *Memory) Append(_ context.Context, key string, event []byte, b LogBounds) (int64, error) {
	if err := b.check(event); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	number := time.Now().UnixMicro()
	changed := &entry{before: number - 1}
	if e := m.entry("e" + key); e != nil {
		changed.log, changed.before = e.log, e.before
		number = max(number, e.log[len(e.log)-1].Number+1)
	}
	log := append(slices.Clip(changed.log), Event{number, append([]byte{}, event...)})
	size := int64(0)
	for _, e := range log {
		size += eventCost + int64(len(e.Data))
	}
	for len(log) > 1 && (len(log) > b.Events || size > b.Bytes) {
		size -= eventCost + int64(len(log[0].Data))
		changed.before = log[0].Number
		log = log[1:]
	}
	changed.log = log
	if err := m.set("e"+key, changed, size+int64(len(log))*entryCost, b.TTL); err != nil {
		return 0, err
	}
	return number, nil
}

// After implements [Store].
func (m *Memory) After(_ context.Context, key string, number int64) (events []Event, gap bool,
	err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry("e" + key)
	if e == nil {
		return nil, number > 0, nil
	}
	if number > e.log[len(e.log)-1].Number { // of a log before this one
		number, gap = 0, true
	}
	size := 0
	for _, event := range e.log {
		if event.Number <= number {
			continue
		}
		size += eventCost + len(event.Data)
		if len(events) == maxAfterEvents || len(events) > 0 && size > maxAfterBytes {
			break
		}
		events = append(events, Event{event.Number, bytes.Clone(event.Data)})
	}
	return events, gap || number > 0 && number < e.before, nil
}

// A memorySubscription is one of a Memory.
type memorySubscription struct {
	m       *Memory
	channel string
	wake    chan struct{}

	// guarded by mu
	queue  [][]byte
	lost   bool
	closed bool
}

// Publish implements [Store].
func (m *Memory) Publish(_ context.Context, channel string, message []byte) error {
	if err := checkValue(message); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.readers[channel] {
		if len(s.queue) == maxMessages || !m.holds(int64(len(message))) {
			s.drop()
			s.lost = true
		} else {
			s.queue = append(s.queue, append([]byte{}, message...))
			m.bytes += entryCost + int64(len(message))
		}
		wake.Up(s.wake)
	}
	return nil
}

// holds reports whether there is room for a message. The caller holds mu.
func (m *Memory) holds(size int64) bool {
	most := cmp.Or(m.MaxBytes, defaultMemory)
	return m.bytes+entryCost+size <= most
}

func (s *memorySubscription) drop() {
	for _, message := range s.queue {
		s.m.bytes -= entryCost + int64(len(message))
	}
	s.queue = nil
}

// Subscribe implements [Store].
func (m *Memory) Subscribe(_ context.Context, channel string) (Subscription, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holds(0) {
		return nil, ErrFull
	}
	m.bytes += entryCost
	s := &memorySubscription{m: m, channel: channel, wake: make(chan struct{}, 1)}
	if m.readers == nil {
		m.readers = map[string][]*memorySubscription{}
	}
	m.readers[channel] = append(m.readers[channel], s)
	return s, nil
}

func (s *memorySubscription) Close() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.drop()
	s.m.bytes -= entryCost
	s.m.readers[s.channel] = slices.DeleteFunc(s.m.readers[s.channel],
		func(other *memorySubscription) bool { return other == s })
	if len(s.m.readers[s.channel]) == 0 {
		delete(s.m.readers, s.channel)
	}
	wake.Up(s.wake)
}

func (s *memorySubscription) Next(ctx context.Context) (Message, error) {
	for {
		s.m.mu.Lock()
		switch {
		case s.closed:
			s.m.mu.Unlock()
			return Message{}, redis.ErrClosed
		case s.lost:
			s.lost = false
			s.m.mu.Unlock()
			return Message{Lost: true}, nil
		case len(s.queue) > 0:
			payload := s.queue[0]
			s.queue[0] = nil
			s.queue = s.queue[1:]
			s.m.bytes -= entryCost + int64(len(payload))
			s.m.mu.Unlock()
			return Message{Payload: payload}, nil
		}
		s.m.mu.Unlock()
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		}
	}
}
