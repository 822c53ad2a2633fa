package streamable_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A modern client is never called, and what is said behind an answer goes nowhere.
func TestNotifyAfterTheResponse(t *testing.T) {
	s := start(t, streamable.Options{})
	kept := make(chan context.Context, 1)
	s.offer("keep", func(ctx context.Context) (*mcp.CallToolResult, error) {
		kept <- ctx
		return &mcp.CallToolResult{}, nil
	})
	body := strings.Replace(toolCall("keep", ""), `"_meta":{`,
		`"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug",`, 1)
	a := s.do(t.Context(), "POST", s.url, body, modernTool+"keep")
	assert.Assert(t, strings.Contains(a.text(), `"result"`))
	ctx := <-kept
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	server.Progress(ctx, 1, 1, "late")
	server.Logger(ctx).Info("late")
	assert.Equal(t, streamable.CloseStream(ctx, time.Second), false)
	assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)

	c := s.connect("2025-11-25", "")
	assert.Equal(t, c.call("1", "keep", "", "").StatusCode, 200)
	ctx = <-kept
	server.Progress(ctx, 1, 1, "late")
	assert.Equal(t, streamable.CloseStream(ctx, time.Second), false)
	assert.Equal(t, streamable.CloseStream(t.Context(), time.Second), false)
}
