package gateway_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An outputSchema that does not describe an object makes strict clients of a revision before
// 2026-07-28 refuse the whole list. So only clients of later revisions get it.
func TestOutputSchemaOfArray(t *testing.T) {
	const without = `{"name":"odd__list","inputSchema":{"type":"object","properties":{}}`
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		odd := scripted{mcp.MethodListTools: `{"tools":[{"name":"list","inputSchema":{},
			"outputSchema":{"type":"array"}}]}`}
		assert.NilError(t, w.gateway.Add(odd.server("odd", &w.serving)))
		w.gateway.Settle(t.Context())
		for era, want := range map[mcp.Era]string{
			mcp.Modern: without + `,"outputSchema":{"type":"array"},"description":"[odd]"}`,
			mcp.Legacy: without + `,"description":"[odd]"}`,
		} {
			w.client(client.Options{Era: era}, func(c *client.Client) {
				assert.Equal(t, w.texts(c)[0], want)
			})
		}
	})
}
