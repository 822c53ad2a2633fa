package streamable

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// readWhole reads a body of which the header claims the length, or -1.
func readWhole(t *testing.T, text []byte, claimed int64) []byte {
	t.Helper()
	c := &conn{limits: framing.Limits{MaxFrame: 2 << 20}}
	got, err := c.readBody(&http.Response{ContentLength: claimed,
		Body: io.NopCloser(bytes.NewReader(text))})
	assert.NilError(t, err)
	return got
}

func TestReadBody(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 32 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1,
		80 << 10, 160 << 10, 1<<20 + 3, 2 << 20} {
		text := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		claimed := readWhole(t, text, int64(size))
		unknown := readWhole(t, text, -1)
		for range 4 { // what was returned is not in pooled memory, which this overwrites
			readWhole(t, make([]byte, size), -1)
			readWhole(t, make([]byte, size), int64(size))
		}
		assert.Assert(t, bytes.Equal(claimed, text), "%d", size)
		assert.Assert(t, bytes.Equal(unknown, text), "%d", size)
	}
}

// A large response is read into little more memory than it takes.
func TestReadBodyAllocates(t *testing.T) {
	const size, runs = 1 << 20, 20
	text := make([]byte, size)
	for _, claimed := range []int64{size, -1} {
		least := ^uint64(0) // of three, because a garbage collection empties the pool
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				readWhole(t, text, claimed)
			}
			runtime.ReadMemStats(&after)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/runs)
		}
		assert.Assert(t, least < 3*size, "claimed %d: %d bytes", claimed, least)
	}
}
