package rpc

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestStdioCloseEndsWrite(t *testing.T) {
	assert.Equal(t, stdioProcess(t, "Stdio writes"), "waited: <nil>\ngoroutines left: 0\n")
}
