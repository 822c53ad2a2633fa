package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	mcpclient "github.com/stdwire/stdwire/client"
	clienthttp "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// stateless returns the URL of a server without sessions.
func stateless(t *testing.T) string {
	t.Helper()
	s := server.Options{Logger: slog.New(slog.DiscardHandler)}.New(
		server.Info{Name: "s", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "add"},
		func(_ context.Context, in struct{ A, B int }) (map[string]int, error) {
			return map[string]int{"sum": in.A + in.B}, nil
		})
	server.AddTool(s, mcp.Tool{Name: "slow"},
		func(ctx context.Context, _ struct{}) (string, error) {
			dispatch.Progress(ctx, 1, 2, "half")
			return "done", nil
		})
	server.AddTool(s, mcp.Tool{Name: "ask"},
		func(ctx context.Context, _ struct{}) (string, error) {
			_, err := server.Elicit(ctx, "q", mcp.ElicitParams{Message: "?"})
			return fmt.Sprint(errors.Is(err, server.ErrUnsupported), server.Ping(ctx)), nil
		})
	assert.NilError(t, s.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:1", Name: "r"},
		Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		}}))
	h := streamable.Options{Stateless: true, Logger: slog.New(slog.DiscardHandler)}.New(s)
	t.Cleanup(h.Close)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}

// A legacy client needs neither a handshake nor a session.
func TestStateless(t *testing.T) {
	url := stateless(t)
	request := func(version, method, params string) (int, string) {
		t.Helper()
		status, header, text := send(t, "POST", url, "", version,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":%q,"params":%s}`, method, params))
		assert.Equal(t, header.Get("Mcp-Session-Id"), "")
		return status, text
	}
	for _, tt := range []struct{ version, method, params, want string }{
		{"", "tools/list", `{}`, `"name":"add"`},
		{"", "tools/call", `{"name":"add","arguments":{"A":1,"B":2}}`,
			`{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"{\"sum\":3}"}]}}`},
		{"2025-11-25", "tools/call", `{"name":"add","arguments":{"A":1,"B":2}}`,
			`"structuredContent":{"sum":3}}`},
		{"2025-06-18", "resources/read", `{"uri":"x:1"}`, `"contents":[]`},
		{"", "ping", `{}`, `"result":{}`},
		{"", "initialize", `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},` +
			`"clientInfo":{"name":"c","version":"1"}}`,
			`{"protocolVersion":"2025-06-18","capabilities":{"resources":{},"tools":{}},` +
				`"serverInfo":{"name":"s","version":"1"}}`},
		{"", "tools/call", `{"name":"ask"}`, `true streamable: the server cannot send requests`},
		{"", "no/such", `{}`, `"code":-32601`},
		{"", "tools/call", `{"name":"no such"}`, `"code":-32602`},
		{"2025-06-18", "logging/setLevel", `{"level":"info"}`,
			`servers that share their sessions, or have none`},
		{"2025-06-18", "resources/subscribe", `{"uri":"x:1"}`,
			`servers that share their sessions, or have none`},
	} {
		status, text := request(tt.version, tt.method, tt.params)
		assert.Equal(t, status, 200, tt.method)
		assert.Assert(t, strings.Contains(text, tt.want), "%s: %s", tt.method, text)
	}
	status, text := request("", "tools/call", `{"name":"slow","_meta":{"progressToken":7}}`)
	assert.Equal(t, status, 200)
	progress, response := strings.Index(text, `"method":"notifications/progress"`),
		strings.Index(text, `"text":"done"`)
	assert.Assert(t, 0 < progress && progress < response, text)
	status, text = request("2024-01-01", "tools/list", `{}`)
	assert.Equal(t, status, 400, text)

	for name, tt := range map[string]struct {
		method, body string
		status       int
		want         string
	}{
		"a stream": {"GET", "", 405, ""}, "an end": {"DELETE", "", 405, ""},
		"a batch": {"POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, "send the messages one by one"},
		"a response": {"POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, 400,
			"this server has no sessions and sends no requests"},
		"a notification": {"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		"a cancellation": {"POST",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, ""},
		"an unknown notification": {"POST", `{"jsonrpc":"2.0","method":"x/y"}`, 202, ""},
	} {
		// a session id of an earlier server is ignored
		status, header, text := send(t, tt.method, url, "old", "", tt.body)
		assert.Equal(t, status, tt.status, "%s: %s", name, text)
		assert.Assert(t, strings.Contains(text, tt.want), "%s: %s", name, text)
		if status == 405 {
			assert.Equal(t, header.Get("Allow"), "POST", name)
		}
	}
}

// Clients of both eras work, and modern ones as without the option.
func TestStatelessClients(t *testing.T) {
	url := stateless(t)
	for _, revision := range []mcp.Revision{mcp.Rev20250326, mcp.LatestLegacy, mcp.Latest} {
		c, err := mcpclient.Options{Revision: revision}.Connect(t.Context(), clienthttp.Dial(url))
		assert.NilError(t, err)
		for range 2 {
			result, err := c.CallTool(t.Context(), "add", json.RawMessage(`{"A":1,"B":2}`))
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, `{"sum":3}`)
		}
		assert.NilError(t, c.Close())
	}
}
