package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	assert.NilError(t, run(t.Context(), &out))
	assert.Equal(t, out.String(), `legacy Oslo 37 fahrenheit {"text":"black ice"}
modern Oslo 37 fahrenheit {"text":"black ice"}
server "server": weather/forecast: Method not found: weather/forecast (code -32601)
`)
}
