package framing

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// Every codec asks the function of GrowWith for the memory of a large payload, also one that
// detects the framing.
func TestGrowWith(t *testing.T) {
	all := Formats()
	all = append(all, Format{Name: "Auto", Framing: Auto}, Format{Name: "Resync",
		Framing: Resync(func([]byte, bool) bool { return true }, nil)})
	payload := bytes.Repeat([]byte{'x'}, 1<<20)
	for _, sent := range Formats() {
		stream, err := sent.Framing(nil, Limits{}).AppendFrame(nil, payload)
		assert.NilError(t, err)
		for _, f := range all {
			if f.Name != sent.Name && f.Name != "Auto" && f.Name != "Resync" {
				continue
			}
			c := f.Framing(bytes.NewReader(stream), Limits{})
			asked := 0
			c.(interface {
				GrowWith(func(dst []byte, n int) []byte)
			}).GrowWith(func(dst []byte, n int) []byte {
				asked++
				return slices.Grow(dst, n)
			})
			got, err := c.ReadFrame(nil)
			assert.Assert(t, err == nil || err == io.EOF, "%v", err)
			assert.Assert(t, bytes.Equal(got, payload), "%s read by %s", sent.Name, f.Name)
			assert.Assert(t, asked > 0, "%s read by %s", sent.Name, f.Name)
		}
	}
}
