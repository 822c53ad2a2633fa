package terminal

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

func TestIsOne(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer f.Close()
	assert.Assert(t, Is(f))
}
