package rpc

import (
	"bytes"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/buffer"
	"gotest.tools/v3/assert"
)

// A large frame takes little more memory than it needs, and one that is read after another of its
// size is not copied. While nothing arrives, there is no large buffer.
func TestFrameMemory(t *testing.T) {
	sizes := []int{100, 1 << 20, 1 << 20, 1<<20 + 5, 30, 1 << 20, 70_000, 1 << 20, 6 << 20, 10,
		200_000, 1_100_000, 1_100_000}
	inPlace := map[int]bool{2: true, 3: true, 5: true, 7: true, 12: true}
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
			m := frameMemory{next: buffer.Get(0)}
			codec.(growing).GrowWith(m.grow)
			var frames []*buffer.Buffer
			for i, size := range sizes {
				var err error
				m.next.B, err = codec.ReadFrame(m.next.B)
				assert.NilError(t, err)
				before := m.next
				frame := m.take()
				assert.Assert(t, frame == before || !inPlace[i], "%d is copied", i)
				assert.Assert(t, frame != before || size > buffer.Small, "%d", i)
				assert.Assert(t, frame != m.next)
				assert.Assert(t, size <= buffer.Small || cap(frame.B) <= size+size/4+128, "%d", i)
				assert.Assert(t, cap(m.next.B) <= buffer.Small, "%d", i)
				frames = append(frames, frame)
			}
			for i, size := range sizes { // the memory of each is its own
				want := bytes.Repeat([]byte{'a' + byte(i)}, size)
				assert.Assert(t, bytes.Equal(frames[i].B, want), "%d", i)
			}
		})
	}
}
