//go:build linux || darwin

package rpc

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestStdioLeavesNoGoroutine(t *testing.T) {
	assert.Equal(t, stdioProcess(t, "Stdio"), "waited: <nil>\ngoroutines left: 0\n")
}
