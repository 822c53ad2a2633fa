package grep

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// openRoot opens a new directory with files.
func openRoot(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	root, err := os.OpenRoot(dir)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, root.Close()) })
	return root
}

// A countedContext is cancelled from the n-th call of Err on.
type countedContext struct {
	context.Context
	n *int
}

func (c countedContext) Err() error {
	if *c.n--; *c.n <= 0 {
		return context.Canceled
	}
	return nil
}

func TestScanCancelled(t *testing.T) {
	t.Parallel()
	root := openRoot(t, map[string]string{"big": strings.Repeat("0123456789\n", 1<<20)})
	ctx := countedContext{t.Context(), new(3)}
	slot, err := NewSlots().begin(ctx)
	assert.NilError(t, err)
	_, err = (&scanner{root: root, re: regexp.MustCompile("x"), limit: 1}).scan(ctx, "big", slot)
	assert.ErrorIs(t, err, context.Canceled)
}

// A panic in a worker reaches the goroutine of the call, where the dispatcher recovers it.
func TestSearchPanic(t *testing.T) {
	t.Parallel()
	s := NewSlots().search(t.Context(), &scanner{}, 1) // without a root, a scan panics
	defer s.Stop()
	assert.NilError(t, s.Add("file"))
	defer func() { assert.Assert(t, recover() != nil) }()
	_, _ = s.Finish()
}

// Concurrent searches share slots, and each has the same result as alone.
func TestSearchTogether(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprint(i)] = fmt.Sprintf("x\nhit %d\n", i)
	}
	root := openRoot(t, files)
	slots := NewSlots()
	search := func() (Output, error) {
		s := slots.Search(t.Context(), root, regexp.MustCompile("hit"), 1, 200)
		defer s.Stop()
		for i := range 50 {
			if err := s.Add(fmt.Sprint(i)); err != nil {
				return Output{}, err
			}
		}
		return s.Finish()
	}
	alone, err := search()
	assert.NilError(t, err)
	assert.Equal(t, len(alone.Matches), 50)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			out, err := search()
			assert.Check(t, err)
			assert.Check(t, cmp.DeepEqual(out, alone))
		})
	}
	all.Wait()
	assert.Equal(t, slots.pool.Used(), int64(0), "all were given back")
}
