package gateway_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// What was accepted elsewhere is pinned only for the identity that the server has here, so that it
// never removes the pins of what this gateway offers, and not before the first use.
func TestAcceptFor(t *testing.T) {
	pins, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
	assert.NilError(t, err)
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		definition := json.RawMessage(`{"name":"verbatim","description":"of another gateway"}`)
		accept := func(of pin.Server, want string) {
			t.Helper()
			pinned, changed, err := w.gateway.AcceptFor(of, mcp.KindTool, definition)
			assert.NilError(t, err)
			got := map[[2]bool]string{{}: "waits", {true, true}: "changed", {true, false}: "same"}
			assert.Equal(t, got[[2]bool{pinned, changed}], want)
		}
		var of pin.Server
		w.useUpstream("up", func(c *client.Client) {
			of, err = pinServer("up", "", c)
			assert.NilError(t, err)
		})
		w.reopen(gateway.Options{PinFile: pins.Path()}, w.server("up", mcp.Modern))
		pinned, _, err := w.gateway.AcceptFor(of, mcp.KindApp, json.RawMessage(`{"uri":"ui://x"}`))
		assert.Assert(t, err == nil && !pinned, "before its first use: %v", err)
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			other, older, nobody := of, of, of
			other.Name, nobody.ID = "other", "nobody"
			older.Capabilities = json.RawMessage(`{"roots":{}}`)
			for _, of := range []pin.Server{other, older, nobody} {
				accept(of, "waits")
			}
			w.gateway.Recheck()
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			of.Source = "/of/another/machine"
			accept(of, "changed")
			accept(of, "same")
			w.gateway.Recheck()
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(w.names(c)), 0)
		})
		_, now, err := pins.Pinned(pin.Server{ID: "up"}, mcp.KindTool, "verbatim")
		assert.NilError(t, err)
		assert.Equal(t, string(now), `{"description":"of another gateway","name":"verbatim"}`)
	})
}
