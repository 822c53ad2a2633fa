package streamable_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Defect M15 of other implementations: where there are no sessions, everybody sees everybody's
// tasks.
func TestM15TasksAreOfTheirPrincipal(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	t.Cleanup(func() { assert.Check(t, s.server.Close(context.Background()) == nil) })
	assert.NilError(t,
		s.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "long"}, Tasks: mcp.TaskRequired,
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return &mcp.CallToolResult{}, nil
			}}))
	do := func(principal, method, name, params string) string {
		t.Helper()
		meta := strings.Replace(modernMeta, "{}",
			`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
		return s.do(t.Context(), "POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"`+method+
			`","params":{`+params+`,`+meta+`}}`,
			header("Mcp-Protocol-Version: 2026-07-28\nMcp-Method: "+method+"\nMcp-Name: "+name+
				"\nAuthorization: Bearer "+principal)).text()
	}
	var m struct{ Result struct{ TaskID string } }
	begun := do("a", "tools/call", "long", `"name":"long"`)
	assert.NilError(t, json.Unmarshal([]byte(begun), &m))
	id := m.Result.TaskID
	assert.Assert(t, id != "", begun)
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		assert.Assert(t,
			strings.Contains(do("b", method, id, `"taskId":"`+id+`"`), `"error":{"code":-32602`))
	}
	assert.Assert(t,
		strings.Contains(do("a", "tasks/get", id, `"taskId":"`+id+`"`), `"taskId":"`+id+`"`))
}
