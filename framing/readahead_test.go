package framing_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// An arrival returns parts of a stream, each as one Read of a pipe, and then io.EOF. It counts the
// reads, and has the size of the last one.
type arrival struct {
	parts [][]byte
	reads int
	size  int
}

func (a *arrival) Read(p []byte) (n int, err error) {
	a.reads, a.size = a.reads+1, len(p)
	if len(a.parts) == 0 {
		return 0, io.EOF
	}
	n = copy(p, a.parts[0])
	if a.parts[0] = a.parts[0][n:]; len(a.parts[0]) == 0 {
		a.parts = a.parts[1:]
	}
	return n, nil
}

// While a connection waits for a message it has a small buffer, whatever it has read before.
func TestBufferOfIdleConnections(t *testing.T) {
	for _, bf := range benchFramings {
		for _, sizes := range [][]int{{}, {100}, {5000}, {100, 70_000, 100}, {300_000},
			{100, 1 << 20, 20_000}} {
			t.Run(fmt.Sprintf("%s/%v", bf.name, sizes), func(t *testing.T) {
				in := &arrival{}
				for _, size := range sizes {
					one, err := bf.framed(nil, framing.Limits{}).AppendFrame(nil, payload(size))
					assert.NilError(t, err)
					in.parts = append(in.parts, one)
				}
				c := bf.framed(in, framing.Limits{})
				for _, size := range sizes {
					frame, err := c.ReadFrame(nil)
					assert.NilError(t, err)
					assert.Assert(t, bytes.Equal(frame, payload(size)))
				}
				_, err := c.ReadFrame(nil)
				assert.Equal(t, err, io.EOF)
				assert.Assert(t, in.size <= 4<<10, "%d", in.size)
			})
		}
	}
}

// Small messages that have arrived together are read together, and a long one with no more reads
// than a pipe needs.
func TestReadsOfBursts(t *testing.T) {
	for _, bf := range benchFramings {
		for _, size := range []int{64, 3000, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", bf.name, size), func(t *testing.T) {
				one, err := bf.framed(nil, framing.Limits{}).AppendFrame(nil, payload(size))
				assert.NilError(t, err)
				const messages = 8 << 20
				stream := bytes.Repeat(one, messages/size)
				in := &arrival{parts: [][]byte{stream}}
				c := bf.framed(in, framing.Limits{})
				for range messages / size {
					if _, err := c.ReadFrame(nil); err != nil {
						t.Fatal(err)
					}
				}
				assert.Assert(t, in.reads <= 2*len(stream)/(64<<10), "%d", in.reads)
			})
		}
	}
}
