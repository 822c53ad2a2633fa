package conformance_test

import (
	"testing"

	"gotest.tools/v3/assert"
)

// The check itself: the last message of each conversation is invalid, and the others are valid.
func TestInvalidMessagesAreReported(t *testing.T) {
	const (
		initialize  = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		initialized = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
		call        = `>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`
		modern      = `>{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		taskCall    = `>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		task        = `<{"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"t","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":null}}`
		taskGet     = `>{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		november    = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		agreed      = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
		future      = `>{"jsonrpc":"2.0","id":4,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`
	)
	for want, lines := range map[string][]string{
		"not a valid InitializeResult": {initialize,
			`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`},
		"not a valid CallToolResult": {initialize, initialized, call,
			`<{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text"}]}}`},
		"not a valid ListToolsResultResponse": {modern,
			`<{"jsonrpc":"2.0","id":3,"result":{"tools":[],"resultType":"complete"}}`},
		"not a valid UnsupportedProtocolVersionError": {future,
			`<{"jsonrpc":"2.0","id":4,"error":{"code":-32022,"message":"no"}}`},
		"not a valid CreateTaskResult: missing": {taskCall,
			`<{"jsonrpc":"2.0","id":5,"result":{"resultType":"task","taskId":"t"}}`},
		"not a valid CreateTaskResult: task: missing": {november, agreed, call,
			`<{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"t"}}}`},
		"not a valid GetTaskResult": {taskCall, task, taskGet,
			`<{"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","taskId":"t"}}`},
		"not a valid ProgressNotification": {initialize, initialized,
			`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`},
		"not a valid JSONRPCMessage": {initialize, initialized, call,
			`<{"id":2,"result":{"content":[]}}`},
		"method not in the revision": {initialize, initialized,
			`<{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`},
		"response to no request": {initialize, initialized,
			`<{"jsonrpc":"2.0","id":7,"result":{}}`},
		"is not a revision of MCP": {initialize,
			`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
		"invalid character": {initialize, initialized, `<Listening`},
	} {
		t.Run(want, func(t *testing.T) {
			talk := schemas(t).Server()
			for i, line := range lines {
				err := talk.Frame(line[0] == '<', []byte(line[1:]))
				if i < len(lines)-1 {
					assert.NilError(t, err)
				} else {
					assert.ErrorContains(t, err, want)
				}
			}
		})
	}
}
