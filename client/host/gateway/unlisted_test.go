package gateway_test

import (
	"context"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A list without the items of a server that has not been listed says so in _meta, with cache hints
// of 0, until the server is listed or disabled.
func TestPartialList(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		slow := w.server("slow", w.era)
		connect := slow.Connect
		slow.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			time.Sleep(20 * time.Second)
			return connect(ctx, session, o)
		}
		assert.NilError(t, w.gateway.Add(slow))
		w.client(client.Options{Era: era}, func(c *client.Client) {
			partial := func() string {
				t.Helper()
				raw, err := c.Call(t.Context(), mcp.MethodListTools, nil)
				assert.NilError(t, err)
				var l mcp.ListToolsResult
				assert.NilError(t, mcp.Unmarshal(raw, &l))
				if era == mcp.Modern {
					assert.Equal(t, string(jsonscan.Member(raw, "ttlMs")), "0")
				}
				return string(l.Meta[mcp.MetaPartial])
			}
			assert.Equal(t, partial(), `["slow"]`)
			assert.DeepEqual(t, w.gateway.Unlisted()["slow"],
				[]string{"tool", "prompt", "resource", "resource template", "skill"})
			w.gateway.Settle(t.Context())
			assert.Equal(t, partial(), "")
			assert.Equal(t, len(w.gateway.Unlisted()), 0)
			assert.NilError(t, w.gateway.Add(slow))
			assert.Equal(t, partial(), `["slow"]`)
			assert.NilError(t, w.gateway.Manager().Disable("slow"))
			assert.Equal(t, partial(), "")
		})
	})
}
