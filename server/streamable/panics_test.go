package streamable_test

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Defects G2 and M5 of other implementations: a panic of a handler ends the process, or is answered
// with the id null.
func TestG2M5PanicsAreAnswered(t *testing.T) {
	s := start(t, streamable.Options{HTTPSSE: true})
	blow := func(context.Context) { panic("ashes") }
	s.offer("explode", func(ctx context.Context) (*mcp.CallToolResult, error) {
		blow(ctx)
		return nil, nil
	})
	assert.NilError(t,
		s.server.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:r", Name: "r"},
			Read: func(ctx context.Context, _ string) (*mcp.ReadResourceResult,
				error) {
				blow(ctx)
				return nil, nil
			}}))
	assert.NilError(t, s.server.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"},
		Get: func(ctx context.Context, _ map[string]string) (*mcp.GetPromptResult, error) {
			blow(ctx)
			return nil, nil
		}}))
	c := s.connect("2025-11-25", "")
	stream, post := s.openSSE("")
	for method, params := range map[string]string{"tools/call": `"name":"explode"`,
		"resources/read": `"uri":"x:r"`, "prompts/get": `"name":"p"`} {
		const failed = `{"jsonrpc":"2.0","id":"mine","error":{"code":-32603,"message":"Internal error"}}`
		body := `{"jsonrpc":"2.0","id":"mine","method":"` + method + `","params":{` + params + `}}`
		c.post(body, "").wants(200, failed)
		post(body)
		assert.Equal(t, stream.event("").data, failed)
		_, name, _ := strings.Cut(params, ":")
		s.do(t.Context(), "POST", s.url, strings.Replace(body, params, params+","+modernMeta, 1),
			header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: "+method+"\nMcp-Name: "+
				strings.Trim(name, `"`))).wants(200, failed)
	}
}

// A handler that panics is answered as one that fails, and leaves a trace in the log only. One that
// ends its goroutine affects no other request.
func TestHandlersThatPanicOrExit(t *testing.T) {
	var log lockedbuffer.Buffer
	s := startWorld(t, streamable.Options{},
		server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s.offer("explode", func(context.Context) (*mcp.CallToolResult, error) { panic("secret ashes") })
	s.offer("exit", func(context.Context) (*mcp.CallToolResult, error) {
		runtime.Goexit()
		return nil, nil
	})
	const failed = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`
	s.tool("explode", `{}`, "").wants(200, failed)
	c := s.connect("2025-06-18", "")
	c.call("1", "explode", "", "").wants(200, failed)
	assert.Equal(t, strings.Count(log.String(), "a handler panicked"), 2)
	assert.Assert(t, strings.Contains(log.String(), "secret ashes"))
	c.call("1", "exit", "", "").isStream().ends()
	assert.Equal(t, c.call("1", "echo", "x", "").StatusCode, 200) // the id is free again
	old := s.connect("2025-03-26", "")
	old.post(`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exit"}}]`,
		"").isStream().ends()
	old.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "").wants(200,
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	req, err := http.NewRequest("POST", s.url, strings.NewReader(toolCall("exit", "")))
	assert.NilError(t, err)
	header("Content-Type: application/json\n" + modernTool + "exit").apply(req.Header)
	_, err = s.client.Do(req)
	assert.Assert(t, err != nil)
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
}
