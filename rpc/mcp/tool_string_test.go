package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
)

// A program that prints a tool prints its name, not the bytes of its schemas.
func TestToolIsPrintedByItsName(t *testing.T) {
	tool := &Tool{Name: "read", InputSchema: json.RawMessage(`{"type":"object"}`)}
	assert.Equal(t, fmt.Sprint(tool), "read")
	assert.Equal(t, fmt.Sprint((*Tool)(nil)), "<nil>")
}
