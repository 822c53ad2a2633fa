package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc/mcp"
	mcpserver "github.com/stdwire/stdwire/server"
)

// A load test ends with its calls, or when the page goes away, and its limits are those of the
// server and not of the page.
func TestLoad(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	waiting, cancelled := make(chan bool, 16), make(chan bool, 16)
	s := mcpserver.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		mcpserver.Info{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"quick", "slow", "denied"} {
		assert.NilError(t, s.AddRawTool(mcpserver.RawTool{Tool: mcp.Tool{Name: name,
			InputSchema: json.RawMessage(`{"type":"object"}`)},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				if name == "slow" {
					waiting <- true
					<-ctx.Done()
					cancelled <- true
				}
				return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(name)}}, nil
			}}))
	}
	v := visit(t)
	connect := func(_ context.Context, _ string, o client.Options) (*client.Client, error) {
		return mcptest.Connect(t, s, o), nil
	}
	assert.NilError(t, v.site.servers.add(&server{id: "s",
		filter:   &host.Filter{Deny: []string{"denied"}},
		upstream: gateway.Upstream{Server: host.Server{Connect: connect}}}))
	web := httptest.NewServer(v.handler)
	t.Cleanup(web.Close)

	begin := func(tool string, calls, together int, seconds float64) (*http.Response, func()) {
		ctx, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		body := fmt.Sprintf(`{"server":"s","tool":%q,"arguments":{},"calls":%d,"concurrency":%d,"seconds":%g}`,
			tool, calls, together, seconds)
		r, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/api/load", strings.NewReader(body))
		assert.NilError(t, err)
		r.Header.Set("Authorization", "Bearer "+v.access.key)
		response, err := web.Client().Do(r)
		assert.NilError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response, leave
	}
	response, _ := begin("quick", 30, 4, 60)
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(text), `data: {"done":true,"calls":30,"errors":0,`))

	for _, tt := range []struct {
		tool            string
		calls, together int
		seconds         float64
		status          int
	}{{"quick", 100_001, 1, 1, 400}, {"quick", 1, 65, 1, 400}, {"quick", 1, 1, 601, 400},
		{"quick", 1, 1, 1e300, 400}, {"quick", 0, 1, 1, 400}, {"denied", 1, 1, 1, 403}} {
		response, _ := begin(tt.tool, tt.calls, tt.together, tt.seconds)
		assert.Equal(t, response.StatusCode, tt.status, "%v", tt)
	}

	for range maxLoads {
		response, _ := begin("slow", 3, 1, 600)
		<-waiting
		_, err := bufio.NewReader(response.Body).ReadString('\n') // a report while it runs
		assert.NilError(t, err)
	}
	response, _ = begin("quick", 1, 1, 1)
	assert.Equal(t, response.StatusCode, 403) // too many
	web.CloseClientConnections()              // the pages go away
	for range maxLoads {
		<-cancelled
	}
}
