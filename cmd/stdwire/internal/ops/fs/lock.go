package fs

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// locks gives each file one writer at a time, so that looking at a file and replacing it is one step for all calls in this
// process. It holds an entry per file being written, and none otherwise. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot  chan struct{} // holds one value while the lock is taken
	users int           // who has it or waits for it; guarded by locks.mu
}

// lock waits until it has all these files of r, or until ctx is done, whose error it then returns.
// The names must be resolved. Case is ignored, for it may not tell files apart, and roots that
// overlap share their locks.
func (l *locks) lock(ctx context.Context, r *root, names ...string) (unlock func(), err error) {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = r.key(name)
	}
	slices.Sort(keys) // one order for all, so that no two callers wait for each other
	keys = slices.Compact(keys)
	for i, key := range keys {
		if err := l.take(ctx, key); err != nil {
			l.release(keys[:i])
			return nil, err
		}
	}
	return func() { l.release(keys) }, nil
}

// key returns what paths of one file have in common, but for links. Names that differ in case only
// have one key; Windows compares capitals, of which σ and ς have the same.
func (r *root) key(name string) string {
	long := longName(filepath.Join(r.host, filepath.FromSlash(name)))
	return strings.ToLower(strings.ToUpper(long))
}

func (l *locks) take(ctx context.Context, key string) error {
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

func (l *locks) release(keys []string) {
	for _, key := range keys {
		l.mu.Lock()
		entry := l.held[key]
		l.mu.Unlock()
		<-entry.slot
		l.leave(key, entry)
	}
}

func (l *locks) leave(key string, entry *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry.users--; entry.users == 0 {
		delete(l.held, key)
	}
}
