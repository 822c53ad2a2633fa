package rpc

import (
	"sync"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"gotest.tools/v3/assert"
)

// A writerFunc is the stream of an outbox.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// An outbox keeps the memory of both buffers that it needs: the one that is written, and the one
// that is filled meanwhile.
func TestOutboxKeepsItsMemory(t *testing.T) {
	message := &buffer.Buffer{B: make([]byte, 1000)}
	var o outbox
	meanwhile := false // a message is queued during the next Write
	o = outbox{
		codec: framing.ContentLength(nil, framing.Limits{}), maxUnsent: 1 << 20,
		wg: new(sync.WaitGroup), fail: func(error) {}, othersRun: func() bool { return false },
		w: writerFunc(func() {
			if meanwhile {
				meanwhile = false
				due, err := o.put(t.Context(), message)
				assert.Assert(t, !due && err == nil)
			}
		}),
	}
	allocated := testing.AllocsPerRun(100, func() {
		meanwhile = true
		due, err := o.put(t.Context(), message)
		assert.Assert(t, due && err == nil)
		o.write()
	})
	assert.Equal(t, allocated, 0.0)
	assert.Equal(t, o.queued, 0)
	assert.Equal(t, len(o.spares), maxSpares)
}
