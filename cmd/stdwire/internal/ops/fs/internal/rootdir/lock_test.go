package rootdir

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		a, b := &Root{host: "/srv/a"}, &Root{host: "/srv"}
		unlock, err := l.Lock(t.Context(), a, "f", "g", "f")
		assert.NilError(t, err)

		taken := make(chan struct{})
		go func() {
			unlock, err := l.Lock(t.Context(), b, "x", "a/G") // another path of a/g
			assert.Check(t, err)
			close(taken)
			unlock()
		}()
		other, err := l.Lock(t.Context(), a, "h")
		assert.NilError(t, err, "another file is free")
		other()
		synctest.Wait()
		select {
		case <-taken:
			t.Fatal("a file was locked twice")
		default:
		}

		// A cancelled wait leaves no entry.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = l.Lock(ctx, a, "e", "f")
		assert.ErrorIs(t, err, context.Canceled)

		unlock()
		<-taken
		synctest.Wait()
		assert.Equal(t, len(l.held), 0)
	})
}

// Names that a file system treats as equal share a lock.
func TestLocksIgnoreCase(t *testing.T) {
	t.Parallel()
	var l Locks
	names := []string{"Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ", "ὀδυσσεύσ"}
	unlock, err := l.Lock(t.Context(), &Root{host: "/srv"}, names...)
	assert.NilError(t, err)
	assert.Equal(t, len(l.held), 1)
	unlock()
}

func TestLocksNoDeadlock(t *testing.T) {
	t.Parallel()
	var l Locks
	r := &Root{host: "/"}
	names := []string{"a", "b", "c"}
	inside := map[string]*sync.Mutex{"a": {}, "b": {}, "c": {}}
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			for range 200 {
				first, second := names[i%3], names[(i/3)%3]
				unlock, err := l.Lock(t.Context(), r, first, second)
				if err != nil {
					t.Error(err)
					return
				}
				if !inside[first].TryLock() {
					t.Error("two are inside")
				} else {
					inside[first].Unlock()
				}
				unlock()
			}
		})
	}
	all.Wait()
	assert.Equal(t, len(l.held), 0)
}
