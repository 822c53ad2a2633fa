//go:build linux

package conformance_test

import (
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// The transport of 2024-11-05, which the SDKs still speak, on a server in this process. All that it says is checked.
func TestSDKClientsOnTheOldTransport(t *testing.T) {
	for _, c := range sdkClients {
		if c.name != "v1" && c.name != "v2 legacy" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			talk := schemas(t).Server()
			var mu sync.Mutex // hooks are called several at once
			quiet := slog.New(slog.DiscardHandler)
			options := server.Options{Logger: quiet, Hooks: rpc.Hooks{Frame: func(d rpc.Direction, frame []byte) {
				mu.Lock()
				defer mu.Unlock()
				if err := talk.Frame(d == rpc.Outbound, frame); err != nil {
					t.Error(err)
				}
			}}}
			handler := streamable.Options{HTTPSSE: true, Logger: quiet}.New(options.New(server.Info{Name: "fixture", Version: "1"}, conformance.Fixture()))
			site := httptest.NewServer(handler)
			defer site.Close()
			defer handler.Close()
			b.clientOf(c, map[string]any{"url": site.URL + "/sse"}).onFixture(t)
			mu.Lock()
			defer mu.Unlock()
			assert.Assert(t, talk.Checked["tools/list result"] > 0, "%v", talk.Checked)
		})
	}
}
