package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Of the codes that are reserved for the specification, a modern client gets only the defined ones.
func TestModernClientsMustGetDefinedCodes(t *testing.T) {
	for code, want := range map[int]int{-32002: -32602, -32042: -32603, -32050: -32603,
		-32000: -32603, -32099: -32603, -32100: -32100, -31000: -31000, -32602: -32602,
		-32021: -32021, 7: 7} {
		s := quiet.New(server.Info{Name: "test", Version: "1"}, dispatch.NewCatalog())
		assert.NilError(t,
			s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "fail"},
				Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					return nil, rpc.Errorf(code, "told")
				}}))
		c := s.Integration().Stateless("", mcp.Latest)
		response, _ := rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, req *rpc.Request) (any, error) {
				return c.Handle(ctx, req, nil)
			},
			&rpc.Request{ID: rpc.IntID(1), Method: "tools/call",
				Params: json.RawMessage(`{"name":"fail","_meta":{` + modern + `}}`)})
		assert.Assert(t, strings.Contains(string(response), fmt.Sprintf(`"code":%d,`, want)),
			"%d: %s", code, response)
	}
}

func TestHeaderAnnotationsMustBeValid(t *testing.T) {
	s := quiet.New(server.Info{Name: "test", Version: "1"}, dispatch.NewCatalog())
	wrong := server.RawTool{
		Tool: mcp.Tool{Name: "t",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}`)},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult,
			error) {
			return &mcp.CallToolResult{}, nil
		},
	}
	assert.ErrorContains(t, s.AddRawTool(wrong), `tool "t"`)
	// it is accepted for the tool of another server, which clients leave out
	assert.NilError(t, s.Integration().AddItem(forwarded(wrong.Tool, nil)))
}
