package rpc

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestStdioLeavesNoGoroutine(t *testing.T) {
	for _, kind := range []string{"Stdio", "Stdio writes"} {
		assert.Equal(t, stdioProcess(t, kind), "waited: <nil>\ngoroutines left: 0\n", kind)
	}
}
