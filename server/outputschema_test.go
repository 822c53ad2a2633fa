package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A result that violates the tool's own schema is an error of the server, and is not sent to the
// client.
func TestOutputSchemaIsKeptTo(t *testing.T) {
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, dispatch.NewCatalog())
	for name, result := range map[string]*mcp.CallToolResult{
		"good":   {StructuredContent: json.RawMessage(`{"n":1}`)},
		"wrong":  {StructuredContent: json.RawMessage(`{"n":"secret"}`)},
		"none":   {Content: []mcp.Content{&mcp.TextContent{Text: "secret"}}},
		"failed": {IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}},
	} {
		assert.NilError(t, s.AddRawTool(server.RawTool{
			Tool: mcp.Tool{Name: name,
				OutputSchema: json.RawMessage(
					`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return result, nil
			},
		}))
	}
	c := s.Integration().Stateless("", mcp.Latest)
	for name, want := range map[string]string{"good": `"structuredContent":{"n":1}`,
		"wrong": `"code":-32603`, "none": `"code":-32603`, "failed": `"isError":true`} {
		response, _ := rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, req *rpc.Request) (any, error) {
				return c.Handle(ctx, req, nil)
			},
			&rpc.Request{ID: rpc.IntID(1), Method: "tools/call",
				Params: json.RawMessage(`{"name":"` + name + `","_meta":{` + modern + `}}`)})
		assert.Assert(t, strings.Contains(string(response), want) &&
			!strings.Contains(string(response), "secret"), "%s: %s", name, response)
	}
	assert.ErrorContains(t,
		s.AddRawTool(server.RawTool{
			Tool: mcp.Tool{Name: "x", OutputSchema: json.RawMessage(`{"type":7}`)},
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return nil, nil
			}}), `tool "x"`)
}
