package dispatch_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/internal/turn"
)

// encodings counts how many large texts are being encoded.
var encodings inflight.Count

type largeText struct{}

func (largeText) MarshalJSON() ([]byte, error) {
	defer encodings.Begin()()
	time.Sleep(time.Millisecond) // of the bubble
	return []byte(strconv.Quote(strings.Repeat("x", 300<<10))), nil
}

// Large results are encoded in turns although their arguments are small, from the second one on.
func TestLargeResultsTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	synctest.Test(t, func(t *testing.T) {
		catalog := dispatch.NewCatalog()
		dispatch.Add(catalog, dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read,
			Output: []byte(`{}`)},
			func(context.Context, struct{}) (largeText, error) { return largeText{}, nil })
		d := dispatch.Options{}.New(catalog)
		ctx := turn.Within(t.Context(), new(turn.Line), "")
		call := func() {
			e := d.Dispatch(ctx, &dispatch.Call{Operation: "a.b"})
			assert.Check(t, e.Err == nil, "%v", e.Err)
		}
		call()
		var running sync.WaitGroup
		for range 8 {
			running.Go(call)
		}
		running.Wait()
	})
	assert.Equal(t, encodings.Most(), 2)
}
