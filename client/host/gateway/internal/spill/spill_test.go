package spill_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/gateway/internal/spill"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

var quiet = slog.New(slog.DiscardHandler)

// put is Put with a new ID.
func put(s *spill.Store, principal string, result []byte) (id string, ok bool) {
	id = spill.NewID()
	return id, s.Put(id, principal, result, len(result))
}

// get returns a result.
func get(s *spill.Store, principal, id string) (result []byte, ok bool) {
	r, ok := s.Get(principal, id)
	if !ok {
		return nil, false
	}
	result, ok = r.Read()
	return result, ok && r.About == len(result)
}

// A result is for its principal only, for an hour.
func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	synctest.Test(t, func(t *testing.T) {
		s := spill.Options{Dir: dir, MaxMemory: 100, MaxDisk: 1000, Logger: quiet}.New()
		small, large := bytes.Repeat([]byte("s"), 10), bytes.Repeat([]byte("l"), 200)
		ids := map[string][]byte{}
		for _, result := range [][]byte{small, large} {
			id, ok := put(s, "ada", result)
			assert.Assert(t, ok)
			ids[id] = result
		}
		for id, result := range ids {
			got, ok := get(s, "ada", id)
			assert.Assert(t, ok && bytes.Equal(got, result))
			for _, other := range []string{"", "bob"} {
				_, ok = get(s, other, id)
				assert.Assert(t, !ok)
			}
		}
		_, ok := get(s, "ada", "another")
		assert.Assert(t, !ok)

		all, err := os.ReadDir(dir)
		assert.NilError(t, err)
		assert.Equal(t, len(all), 1)
		text, err := os.ReadFile(filepath.Join(dir, all[0].Name()))
		assert.NilError(t, err)
		assert.Assert(t, !bytes.Contains(text, []byte("llll")))
		info, err := all[0].Info()
		assert.NilError(t, err)
		assert.Assert(t, !atomicfile.Permissions || info.Mode().Perm() == 0o600)

		time.Sleep(time.Hour)
		synctest.Wait()
		for id := range ids {
			_, ok := get(s, "ada", id)
			assert.Assert(t, !ok)
		}
		all, err = os.ReadDir(dir)
		assert.NilError(t, err)
		assert.Equal(t, len(all), 0)

		id, ok := put(s, "ada", large)
		assert.Assert(t, ok)
		s.Close()
		_, ok = get(s, "ada", id)
		assert.Assert(t, !ok)
		_, ok = put(s, "ada", small)
		assert.Assert(t, !ok)
		all, err = os.ReadDir(dir)
		assert.NilError(t, err)
		assert.Equal(t, len(all), 0)
	})
}

// When a principal has its share, its own oldest result is removed; others keep theirs. What no
// share has room for is not kept, and removes nothing.
func TestShares(t *testing.T) {
	s := spill.Options{MaxCount: 100, MaxMemory: 1000, Logger: quiet}.New()
	defer s.Close()
	keep := func(principal string, size int) (id string) {
		id, _ = put(s, principal, bytes.Repeat([]byte("x"), size))
		return id
	}
	kept := func(principal, id string) bool {
		_, ok := get(s, principal, id)
		return ok
	}
	bob := keep("bob", 100)
	first, second := keep("ada", 200), keep("ada", 200)
	assert.Assert(t, kept("ada", first) && kept("ada", second))
	third := keep("ada", 200)
	assert.Assert(t, !kept("ada", first) && kept("ada", second) && kept("ada", third))
	_, ok := put(s, "ada", make([]byte, 501)) // more than half of all
	assert.Assert(t, !ok)
	assert.Assert(t, kept("ada", second) && kept("ada", third) && kept("bob", bob))
	for range 200 {
		keep("ada", 1)
	}
	assert.Assert(t, !kept("ada", third) && kept("bob", bob))
}

// What cannot be written is not kept. What a killed process has left behind is removed.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	old, fresh, other := filepath.Join(dir, "A.result"), filepath.Join(dir, "B.result"),
		filepath.Join(dir, "other")
	for _, path := range []string{old, fresh, other} {
		assert.NilError(t, os.WriteFile(path, nil, 0o600))
	}
	past := time.Now().Add(-2 * time.Hour)
	assert.NilError(t, os.Chtimes(old, past, past))
	assert.NilError(t, os.Chtimes(other, past, past))
	s := spill.Options{Dir: dir, MaxMemory: 10, Logger: quiet}.New()
	id, ok := put(s, "", bytes.Repeat([]byte("x"), 100))
	assert.Assert(t, ok)
	_, err := os.Stat(old)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for _, path := range []string{fresh, other} {
		_, err = os.Stat(path)
		assert.NilError(t, err)
	}
	// A changed file is not what was kept.
	all, err := filepath.Glob(filepath.Join(dir, "*.result"))
	assert.NilError(t, err)
	for _, path := range all {
		if path != fresh {
			assert.NilError(t, os.WriteFile(path, bytes.Repeat([]byte("y"), 100), 0o600))
		}
	}
	_, ok = get(s, "", id)
	assert.Assert(t, !ok)
	s.Close()

	s = spill.Options{Dir: filepath.Join(fresh, "x"), MaxMemory: 10, Logger: quiet}.New()
	defer s.Close()
	_, ok = put(s, "", bytes.Repeat([]byte("x"), 100))
	assert.Assert(t, !ok)
	_, ok = put(s, "", bytes.Repeat([]byte("x"), 10))
	assert.Assert(t, ok)
}

func TestConcurrent(t *testing.T) {
	s := spill.Options{Dir: t.TempDir(), MaxCount: 20, MaxMemory: 2000, MaxDisk: 5000,
		Logger: quiet}.New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				result := bytes.Repeat([]byte{byte('a' + i)}, 100+j)
				if id, ok := put(s, string(rune('a'+i)), result); ok {
					if got, ok := get(s, string(rune('a'+i)), id); ok {
						assert.Check(t, bytes.Equal(got, result))
					}
				}
			}
		})
	}
	wg.Wait()
	s.Close()
}

// A result that is kept twice takes room once.
func TestSameID(t *testing.T) {
	dir := t.TempDir()
	s := spill.Options{Dir: dir, MaxMemory: 10, MaxDisk: 400, Logger: quiet}.New()
	defer s.Close()
	id := spill.NewID()
	for range 2 {
		assert.Assert(t, s.Put(id, "ada", make([]byte, 100), 100))
	}
	_, ok := get(s, "ada", id)
	assert.Assert(t, ok)
	all, err := filepath.Glob(filepath.Join(dir, "*.result"))
	assert.NilError(t, err)
	assert.Equal(t, len(all), 1)
	_, ok = put(s, "ada", make([]byte, 100))
	assert.Assert(t, ok)
	_, ok = get(s, "ada", id)
	assert.Assert(t, ok, "there was room for both")
}
