package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A tool that is called by another one is permitted by its own name.
func TestAuthorizeInnerTool(t *testing.T) {
	s := server.Options{ToolView: func(string) server.ToolView {
		return server.ToolView{Search: true}
	}}.New(server.Info{Name: "s", Version: "1"}, nil)
	for _, name := range []string{"secret", "open"} {
		assert.NilError(t, s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"}}`),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"content":[]}`), nil
			}}))
	}
	web := httptest.NewServer(streamable.Options{
		Authorize: func(*http.Request) (streamable.Caller, error) {
			return streamable.Caller{Principal: "ada",
				AuthorizeMessages: func(messages []streamable.Message) error {
					for _, m := range messages {
						if m.Subject == "secret" {
							return &streamable.Refusal{Status: 403, Message: "not this"}
						}
					}
					return nil
				}}, nil
		}}.New(s))
	defer web.Close()
	for name, want := range map[string]int{"secret": 403, "open": 200} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{}},"name":"call_tool_destructive",` +
			`"arguments":{"name":"` + name + `"}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL,
			strings.NewReader(body))
		assert.NilError(t, err)
		for key, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "call_tool_destructive"} {
			r.Header.Set(key, value)
		}
		answer, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		assert.NilError(t, answer.Body.Close())
		assert.Equal(t, answer.StatusCode, want, name)
	}
}
