package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Either side may send a ping, but not in the modern era.
func TestServerPingsItsClient(t *testing.T) {
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, dispatch.NewCatalog())
	assert.NilError(t,
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "ping"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				text := "there"
				if err := server.Ping(ctx); errors.Is(err, server.ErrNoRequest) {
					text = "cannot be asked"
				} else if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}},
					nil
			}}))
	l := speak(t, s, "2025-11-25", `{}`)
	l.start("tools/call", `{"name":"ping"}`)
	question := l.next()
	assert.Equal(t, question.Method, "ping")
	l.reply(question, `{}`)
	assert.Assert(t, strings.Contains(string(l.next().Result), `"there"`))
	k := speak(t, s, "2026-07-28", `{}`)
	assert.Assert(t,
		strings.Contains(string(k.request("tools/call", `{"name":"ping"}`).Result),
			"cannot be asked"))
	assert.Assert(t, errors.Is(server.Ping(t.Context()), server.ErrNoRequest))
}
