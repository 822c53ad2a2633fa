//go:build linux

package conformance_test

import (
	"context"
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

// checkedServer returns options for a server in this process that check all its messages, if there
// are schemas, and a function that returns how many messages of a kind were checked.
func checkedServer(t *testing.T) (server.Options, func(kind string) int) {
	options := server.Options{Logger: slog.New(slog.DiscardHandler)}
	schemas := conformance.OpenSchemas()
	if schemas == nil {
		return options, func(string) int { return 1 }
	}
	talk := schemas.Server()
	var mu sync.Mutex // hooks are called concurrently
	options.Hooks = rpc.Hooks{Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		if err := talk.Frame(d == rpc.Outbound, frame); err != nil {
			t.Error(err)
		}
	}}
	return options, func(kind string) int {
		mu.Lock()
		defer mu.Unlock()
		return talk.Checked[kind]
	}
}

// The transport of 2024-11-05, which the SDKs still support, with a server in this process. All its
// messages are checked.
func TestSDKClientsOverHTTPSSE(t *testing.T) {
	for _, c := range sdkClients {
		if c.name != "v1" && c.name != "v2 legacy" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			schemas(t)
			options, checked := checkedServer(t)
			handler := streamable.Options{HTTPSSE: true,
				Logger: options.Logger}.New(
				options.New(server.Info{Name: "fixture", Version: "1"}, conformance.Fixture()))
			site := httptest.NewServer(handler)
			defer site.Close()
			defer handler.Close()
			b.clientOf(c, map[string]any{"url": site.URL + "/sse"}).onFixture(t)
			assert.Assert(t, checked("tools/list result") > 0)
		})
	}
}
