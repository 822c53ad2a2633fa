package control

import (
	"testing"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
)

// Where a log goes on, a line that came in two pieces is one; where something between is missing,
// what was begun before is no beginning of what follows.
func TestLogLinesAtTheSeam(t *testing.T) {
	c := termtest.Capture(false)
	lines := &lineWriter{out: c.Out}
	for _, got := range []ops.LogsOutput{{Text: "one\ntw"}, {Text: "o\nthr"},
		{Text: "nine\nten", Missed: 700}} {
		lines.add(c.Streams, got)
	}
	lines.end()
	assert.NilError(t, c.Out.Flush())
	assert.Equal(t, c.Stdout.String(), "one\ntwo\nthr\nnine\nten\n")
	assert.Equal(t, c.Stderr.String(), "note: 700 earlier bytes were discarded\n")
}
