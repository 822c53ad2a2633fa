package terminal

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

func TestIs(t *testing.T) {
	null, err := os.Open(os.DevNull)
	assert.NilError(t, err)
	defer null.Close()
	assert.Assert(t, !Is(null))
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	defer r.Close()
	assert.Assert(t, !Is(r))
	assert.NilError(t, w.Close())
	assert.Assert(t, !Is(w), "closed")
}
