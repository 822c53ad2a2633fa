// Package spill keeps results for their callers for a time: in memory, then in files.
package spill

import (
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
)

// Limits of a [Store]. A principal has a share of each (package quota).
const (
	maxCount  = 1000
	maxMemory = 64 << 20 // bytes
	maxDisk   = 1 << 30  // bytes
)

// Lifetime is how long a result is kept.
const Lifetime = time.Hour

// NewID returns a new ID of a result: a secret that cannot be guessed.
func NewID() string { return rand.Text() }

// Options are the settings of a [Store]. Zero limits are the defaults.
type Options struct {
	// Dir is a directory for the results for which there is no room in memory; "": none are
	// written. Several stores may share it.
	Dir string
	// MaxCount limits the number of results, MaxMemory and MaxDisk their bytes.
	MaxCount, MaxMemory, MaxDisk int64
	Logger                       *slog.Logger
}

// A Store keeps results for an hour. When a principal has its share, the oldest result of the
// same principal is removed. All methods are safe for concurrent use.
type Store struct {
	files               *files // nil without a directory
	count, memory, disk *quota.Pool
	log                 *slog.Logger

	mu      sync.Mutex
	closed  bool
	timer   *time.Timer       // runs when the oldest result expires; nil before the first
	entries map[string]*entry // by ID
	order   []*entry          // the oldest first
	writing sync.WaitGroup
}

// An entry is a result that is kept. It is immutable.
type entry struct {
	id, principal string
	about         any
	size          int64
	expires       time.Time
	result        []byte // nil if it is in the file
	file          string // its name, which does not reveal the ID
}

// New returns an empty store. Call Close to remove its files.
func (o Options) New() *Store {
	s := &Store{log: o.Logger, entries: make(map[string]*entry),
		count: newPool(o.MaxCount, maxCount), memory: newPool(o.MaxMemory, maxMemory)}
	if o.Dir != "" {
		s.files, s.disk = newFiles(o.Dir), newPool(o.MaxDisk, maxDisk)
	}
	return s
}

func newPool(total, usual int64) *quota.Pool {
	if total == 0 {
		total = usual
	}
	return quota.NewPool(total)
}

// Put keeps a result of a principal with an ID, which is new or that of the same result, and what
// the caller knows about it. The caller must not modify the result. Put reports false if the result
// is not kept: it is larger than the principal's share, or cannot be written.
func (s *Store) Put(id, principal string, result []byte, about any) bool {
	e := &entry{id: id, principal: principal, about: about, size: int64(len(result)),
		expires: time.Now().Add(Lifetime)}
	s.mu.Lock()
	pool := s.reserve(e)
	if pool == nil {
		s.mu.Unlock()
		return false
	}
	if pool == s.memory {
		e.result = result
		s.add(e)
		s.mu.Unlock()
		return true
	}
	e.file = rand.Text()
	s.writing.Add(1)
	s.mu.Unlock()
	defer s.writing.Done()
	err := s.files.write(e, result)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.log.Warn("gateway: a large result cannot be kept on disk", slog.Any("error", err))
	}
	if err != nil || s.closed {
		s.giveBack(e)
		return false
	}
	s.add(e)
	return true
}

// reserve takes room for an entry, and returns the pool of its bytes or nil. The caller holds mu.
func (s *Store) reserve(e *entry) *quota.Pool {
	if s.closed {
		return nil
	}
	for {
		if s.count.Take(e.principal, 1) == nil {
			for _, pool := range []*quota.Pool{s.memory, s.disk} {
				if pool != nil && pool.Take(e.principal, e.size) == nil {
					return pool
				}
			}
			s.count.Give(e.principal, 1)
		}
		if e.size > s.memory.MaxHeld(e.principal) &&
			(s.disk == nil || e.size > s.disk.MaxHeld(e.principal)) {
			return nil // whatever is removed
		}
		oldest := slices.IndexFunc(s.order,
			func(other *entry) bool { return other.principal == e.principal })
		if oldest < 0 {
			return nil
		}
		s.remove(oldest)
	}
}

// add makes an entry available, unless one with its ID is. The caller holds mu.
func (s *Store) add(e *entry) {
	if s.entries[e.id] != nil {
		s.giveBack(e)
		return
	}
	s.entries[e.id] = e
	s.order = append(s.order, e)
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(e.expires), s.expire)
	} else if len(s.order) == 1 {
		s.timer.Reset(time.Until(e.expires))
	}
}

// remove removes an entry by its place in the order. The caller holds mu.
func (s *Store) remove(i int) {
	e := s.order[i]
	s.order = slices.Delete(s.order, i, i+1)
	delete(s.entries, e.id)
	s.giveBack(e)
}

// giveBack gives back the room of an entry, and removes its file. The caller holds mu.
func (s *Store) giveBack(e *entry) {
	s.count.Give(e.principal, 1)
	if e.result != nil {
		s.memory.Give(e.principal, e.size)
		return
	}
	s.disk.Give(e.principal, e.size)
	s.files.remove(e)
}

// expire removes what has expired.
func (s *Store) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for len(s.order) > 0 {
		if left := s.order[0].expires.Sub(now); left > 0 {
			s.timer.Reset(left)
			return
		}
		s.remove(0)
	}
}

// A Result is a result that is kept, for a principal that may read it.
type Result struct {
	About any // what was passed to Put

	store *Store
	entry *entry
}

// Get returns the result with an ID. ok is false if there is none, or it belongs to another
// principal.
func (s *Store) Get(principal, id string) (r Result, ok bool) {
	s.mu.Lock()
	e := s.entries[id]
	s.mu.Unlock()
	if e == nil || e.principal != principal || !time.Now().Before(e.expires) {
		return Result{}, false
	}
	return Result{e.about, s, e}, true
}

// Unkept returns a result that no store keeps.
func Unkept(result []byte, about any) Result {
	return Result{About: about, entry: &entry{result: result}}
}

// Read returns the result as it was passed to Put; the caller must not modify it. ok is false if
// the result was removed meanwhile, or its file cannot be read, which is logged.
func (r Result) Read() (result []byte, ok bool) {
	if r.entry.result != nil {
		return r.entry.result, true
	}
	result, err := r.store.files.read(r.entry)
	if err != nil {
		r.store.log.Warn("gateway: a large result cannot be read from disk", slog.Any("error", err))
	}
	return result, err == nil
}

// Close removes everything. Put and Get fail from then on.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	for len(s.order) > 0 {
		s.remove(0)
	}
	s.mu.Unlock()
	s.writing.Wait()
}
