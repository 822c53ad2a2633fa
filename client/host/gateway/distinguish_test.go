package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Tools whose names are the same after invalid characters are replaced are all offered, under names
// that do not depend on their order, and each call reaches its own tool.
func TestEqualPublicNames(t *testing.T) {
	names := []string{"sp ace", "sp_ace", "ünï", "önï", "a.b", "a_b"}
	want := map[string]string{"up__sp_ace": "sp_ace", "up__a.b": "a.b", "up__a_b": "a_b"}
	for range 2 {
		withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
			pins, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
			assert.NilError(t, err)
			w.gateway.Close()
			w.up = server.Options{Logger: quiet}.New(server.Info{Name: "up", Version: "1"},
				dispatch.NewCatalog())
			for _, name := range names {
				w.add(name, func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return text("%s", name), nil
				})
			}
			var log bytes.Buffer
			catalog := dispatch.NewCatalog()
			w.gateway = gateway.Options{PinFile: pins.Path(), Catalog: catalog,
				Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(w.downstream)
			assert.NilError(t, w.gateway.Add(w.server("up", mcp.Modern)))
			w.gateway.Settle(t.Context())
			w.client(client.Options{}, func(c *client.Client) {
				reached := map[string]string{}
				for _, public := range w.names(c) {
					result, err := c.CallTool(t.Context(), public, nil)
					assert.NilError(t, err)
					reached[public] = result.Content[0].(*mcp.TextContent).Text
				}
				assert.Equal(t, len(reached), len(names), "%v", reached)
				for public, own := range want {
					assert.Equal(t, reached[public], own)
				}
				want = reached
			})
			assert.Equal(t, len(operationNames(catalog)), len(names))
			assert.Equal(t, len(w.gateway.Withheld()), 0)
			assert.Assert(t, strings.Contains(log.String(), `own_name="sp ace"`), log.String())
			assert.Assert(t, !strings.Contains(log.String(), "withheld"), log.String())
			w.gateway.Recheck()
		})
		names = []string{"a_b", "a.b", "önï", "ünï", "sp_ace", "sp ace"}
	}
}
