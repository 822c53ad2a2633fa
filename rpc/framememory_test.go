package rpc

import (
	"bytes"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"gotest.tools/v3/assert"
)

// A large frame takes little more memory than it needs, and one that is read after another of its
// size is not copied, nor is one of medium size. While nothing arrives, there is no such memory.
func TestFrameMemory(t *testing.T) {
	sizes := []int{100, 1 << 20, 1 << 20, 1<<20 + 5, 30, 1 << 20, 70_000, 1 << 20, 6 << 20, 10,
		200_000, 1_100_000, 1_100_000, 23_000, 100, idleFrame + 1, 60_000, 3000, 100}
	inPlace := map[int]bool{2: true, 3: true, 5: true, 7: true, 12: true, 13: true, 15: true,
		16: true}
	for _, format := range framing.Formats() {
		t.Run(format.Name, func(t *testing.T) {
			var stream []byte
			for i, size := range sizes {
				var err error
				stream, err = format.Framing(nil, framing.Limits{}).AppendFrame(stream,
					bytes.Repeat([]byte{'a' + byte(i)}, size))
				assert.NilError(t, err)
			}
			codec := format.Framing(bytes.NewReader(stream), framing.Limits{})
			var m frameMemory
			var grown []byte
			codec.(growing).GrowWith(func(dst []byte, n int) []byte {
				grown = m.grow(dst, n)
				return grown
			})
			var frames []*buffer.Buffer
			for i, size := range sizes {
				grown = nil
				frame, err := m.read(codec)
				assert.NilError(t, err)
				read := grown != nil && &frame.B[0] == &grown[:1][0]
				assert.Assert(t, read || !inPlace[i], "%d is copied", i)
				assert.Assert(t, frame != m.next)
				assert.Assert(t, size <= buffer.Small || cap(frame.B) <= size+size/4+128, "%d", i)
				assert.Assert(t, cap(m.next.Bytes()) <= idleFrame, "%d", i)
				frames = append(frames, frame)
			}
			for i, size := range sizes { // the memory of each is its own
				want := bytes.Repeat([]byte{'a' + byte(i)}, size)
				assert.Assert(t, bytes.Equal(frames[i].B, want), "%d", i)
			}
		})
	}
}

// A frame that was too large leaves no memory behind.
func TestFrameMemoryOfSkipped(t *testing.T) {
	for _, format := range framing.Formats() {
		stream, err := format.Framing(nil, framing.Limits{}).AppendFrame(nil,
			bytes.Repeat([]byte{'a'}, 300_000))
		assert.NilError(t, err)
		codec := format.Framing(bytes.NewReader(stream), framing.Limits{MaxFrame: 250_000})
		var m frameMemory
		codec.(growing).GrowWith(m.grow)
		_, err = m.read(codec)
		assert.ErrorIs(t, err, framing.ErrTooLarge)
		assert.Assert(t, cap(m.next.Bytes()) <= idleFrame, "%s", format.Name)
	}
}
