package grep

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// An endlessFile has no end, and each block of it takes a second to read.
type endlessFile struct{ ctx context.Context }

func (e endlessFile) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return len(p), nil
}

// runAs runs a function as an operation called by a principal.
func runAs(ctx context.Context, principal string, run func(context.Context)) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "run", Summary: "Run.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (struct{}, error) {
			run(ctx)
			return struct{}{}, nil
		})
	dispatch.Options{Slow: -1}.New(c).Dispatch(ctx,
		&dispatch.Call{Operation: "run", Principal: principal})
}

// Endless searches, of one principal or several, delay another principal only for moments.
func TestExpensiveSearchesShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 6 * slots.workers() {
			principal := []string{"ada", "ada", "ada", "ben", "ben", "cem"}[i%6]
			all.Go(func() {
				runAs(ctx, principal, func(ctx context.Context) {
					slot, err := slots.begin(ctx)
					if err != nil {
						return // cancelled
					}
					defer slot.end()
					_, err = io.Copy(io.Discard, slot.from(endlessFile{ctx}))
					assert.Check(t, err == context.Canceled, "%v", err)
				})
			})
		}
		synctest.Wait()
		assert.Equal(t, slots.pool.Used(), slots.pool.Total())
		for range 3 {
			time.Sleep(time.Minute)
			began := time.Now()
			runAs(ctx, "eve", func(ctx context.Context) {
				slot, err := slots.begin(ctx)
				assert.Check(t, err)
				slot.end()
			})
			assert.Check(t, time.Since(began) <= 3*time.Second, "%v", time.Since(began))
		}
		cancel()
		all.Wait()
		assert.Equal(t, slots.pool.Used(), int64(0))
	})
}
