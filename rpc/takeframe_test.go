package rpc

import (
	"bytes"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"gotest.tools/v3/assert"
)

// A large frame takes little more memory than it needs, and one that is read after another of its
// size is not copied.
func TestTakeFrame(t *testing.T) {
	sizes := []int{100, 1 << 20, 1 << 20, 1<<20 + 5, 30, 1 << 20, 70_000, 1 << 20, 6 << 20, 10,
		200_000, 200_000}
	inPlace := map[int]bool{2: true, 3: true, 5: true, 7: true, 11: true}
	var stream []byte
	for i, size := range sizes {
		stream = append(append(stream, bytes.Repeat([]byte{'a' + byte(i)}, size)...), '\n')
	}
	codec := framing.Newline(bytes.NewReader(stream), framing.Limits{})
	next := buffer.Get(0)
	var frames []*buffer.Buffer
	for i, size := range sizes {
		var err error
		next.B, err = codec.ReadFrame(next.B)
		assert.NilError(t, err)
		before := next
		var frame *buffer.Buffer
		frame, next = takeFrame(next)
		assert.Assert(t, frame == before || !inPlace[i], "%d is copied", i)
		assert.Assert(t, frame != before || size > buffer.Small, "%d", i)
		assert.Assert(t, frame != next)
		assert.Assert(t, size <= buffer.Small || cap(frame.B) <= size+size/4+128, "%d", i)
		assert.Assert(t, cap(next.B) <= maxKeptBuffer+maxKeptBuffer/4+128, "%d", i)
		frames = append(frames, frame)
	}
	for i, size := range sizes { // the memory of each is its own
		assert.Assert(t, bytes.Equal(frames[i].B, bytes.Repeat([]byte{'a' + byte(i)}, size)), "%d", i)
	}
}
