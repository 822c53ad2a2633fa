package client

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// The memory of a large message that a stream carries is the peer's.
func TestGrowWith(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	s := Stream(rpc.Stream(io.NopCloser(strings.NewReader(line+"\n")), nil))
	assert.NilError(t, s.Open(&Link{c: &Client{activity: activity{began: make(chan struct{})}}}))
	k := &codec{Codec: framing.Newline(nil, framing.Limits{}), transport: s}
	asked := 0
	k.GrowWith(func(dst []byte, n int) []byte {
		asked++
		return slices.Grow(dst, n)
	})
	got, err := k.ReadFrame(nil)
	assert.NilError(t, err)
	assert.Assert(t, bytes.Equal(got, []byte(line)))
	assert.Assert(t, asked > 0)
}
