package progress

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// New progress replaces the old, and that of other calls or without a valid token is dropped.
func TestLatest(t *testing.T) {
	var table Table
	box := table.Open()
	for _, params := range []string{`{"progressToken":1,"progress":1}`, `{"progressToken":"1","progress":2}`,
		`{"progressToken":2,"progress":3}`, `{"progressToken":"x"}`, `{}`} {
		table.Put([]byte(params))
	}
	<-box.Ready
	p := box.Take()
	assert.Assert(t, p != nil)
	assert.Equal(t, p.Progress, 2.0)
	box.Done()
	assert.Assert(t, box.Take() == nil)
	box.Done()
	table.Close(box)
	table.Put([]byte(`{"progressToken":1,"progress":4}`))
	assert.Assert(t, box.Take() == nil)
}

// Await waits until what has arrived is delivered or its call has ended, but not long.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		box, ended := table.Open(), table.Open()
		table.Put([]byte(`{"progressToken":1,"progress":1}`))
		table.Put([]byte(`{"progressToken":2,"progress":1}`))
		began := time.Now()
		table.Await(t.Context())
		assert.Equal(t, time.Since(began), maxWait)
		ctx, cancel := context.WithTimeout(t.Context(), maxWait/4)
		defer cancel()
		table.Await(ctx)
		assert.Equal(t, time.Since(began), maxWait*5/4)
		go func() {
			time.Sleep(maxWait / 4)
			table.Close(ended)
			time.Sleep(maxWait / 4)
			_ = box.Take()
			box.Done()
		}()
		table.Await(t.Context())
		assert.Equal(t, time.Since(began), maxWait*7/4)
	})
}
