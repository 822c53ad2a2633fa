package output

import (
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"

	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestDefinition(t *testing.T) {
	for _, tc := range []struct{ tool, want string }{
		{`{"name":"now","inputSchema":{"type":"object"}}`, `now

It may change or destroy things: the server does not say.

It has no parameters.
`},
		{`{"name":"add","title":"Add numbers","description":"Adds.\n\nQuickly, and \u001b[2Jwith care.",
			"annotations":{"readOnlyHint":true},
			"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]},
			"inputSchema":{"type":"object","properties":{
				"a":{"type":"number","description":"The first number, which is added to the second one; it may be negative."},
				"mode":{"enum":["fast","slow"],"default":"fast"},
				"tags":{"type":"array","items":{"type":"string"}}},"required":["a"]}}`, `add: Add numbers

Adds.

Quickly, and with care.

It changes nothing, according to the server.
Its result is {sum: number}.

parameter  type                     default
a          number         required
    The first number, which is added to the second one; it may be negative.
mode       "fast"|"slow"            "fast"
tags       string[]
`},
		{`{"name":"rm","annotations":{"destructiveHint":true},"inputSchema":{"type":"object"}}`, `rm

It may destroy things, according to the server.

It has no parameters.
`},
		{`{"name":"put","annotations":{"destructiveHint":false},"inputSchema":{"type":"object"}}`, `put

It changes things but destroys nothing, according to the server.

It has no parameters.
`},
	} {
		var tool mcp.Tool
		assert.NilError(t, mcp.Unmarshal([]byte(tc.tool), &tool))
		c := termtest.Capture(false)
		PrintDefinition(c.Out, &tool)
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stdout.String(), tc.want)
	}
}

// The layout does not panic on a terminal of one column.
func TestDefinitionOnANarrowTerminal(t *testing.T) {
	var tool mcp.Tool
	assert.NilError(t, mcp.Unmarshal([]byte(`{"name":"roll","inputSchema":{"type":"object",`+
		`"properties":{"dice":{"type":"string","default":"some long text","description":"a b"}}}}`),
		&tool))
	c := termtest.CaptureTerminal(1)
	PrintDefinition(c.Out, &tool)
	assert.NilError(t, c.Out.Flush())
	assert.Assert(t, cmp.Contains(c.Stdout.String(), "dice       string    \"some long text\""))
}
