package rootdir

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Locks are locks of files by name. They allow one writer at a time for each file, so that checking
// and replacing a file is atomic within this process. locks has entries only for files being
// written. The zero value is ready to use.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot  chan struct{} // of capacity 1; full while the lock is held
	users int           // number of holders and waiters; guarded by locks.mu
}

// Lock locks files of r. It blocks until it holds all locks or ctx is done; the error is that of
// ctx. The names must be resolved. Names that differ only in case share a lock, because they may
// name one file, and so do equal paths of overlapping roots.
func (l *Locks) Lock(ctx context.Context, r *Root, names ...string) (unlock func(), err error) {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = r.Key(name)
	}
	slices.Sort(keys) // a fixed order prevents deadlocks
	keys = slices.Compact(keys)
	for i, key := range keys {
		if err := l.take(ctx, key); err != nil {
			l.release(keys[:i])
			return nil, err
		}
	}
	return func() { l.release(keys) }, nil
}

// Key returns the key of a file's lock. Names that differ only in case have the same key. Windows
// compares names in upper case, where σ and ς are equal.
func (r *Root) Key(name string) string {
	long := longName(filepath.Join(r.host, filepath.FromSlash(name)))
	return strings.ToLower(strings.ToUpper(long))
}

func (l *Locks) take(ctx context.Context, key string) error {
	l.mu.Lock()
	entry := l.held[key]
	if entry == nil {
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		entry = &lock{slot: make(chan struct{}, 1)}
		l.held[key] = entry
	}
	entry.users++
	l.mu.Unlock()
	select {
	case entry.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		l.leave(key, entry)
		return ctx.Err()
	}
}

func (l *Locks) release(keys []string) {
	for _, key := range keys {
		l.mu.Lock()
		entry := l.held[key]
		l.mu.Unlock()
		<-entry.slot
		l.leave(key, entry)
	}
}

func (l *Locks) leave(key string, entry *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry.users--; entry.users == 0 {
		delete(l.held, key)
	}
}
