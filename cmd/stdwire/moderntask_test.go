package main

import "fmt"

// serveModernTask is a modern server whose tool becomes a task.
func serveModernTask([]string) {
	states := []string{
		`"status":"working","statusMessage":"one \u001b[2Jof two"`,
		`"status":"working","statusMessage":"one \u001b[2Jof two"`,
		`"status":"working","statusMessage":"two of two"`,
		`"status":"completed","result":{"content":[{"type":"text","text":"done"}]}`,
	}
	const task = `"taskId":"T-7","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":100`
	serveLines(func(m message, reply func(string)) {
		result := `{"resultType":"complete"}`
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`
		case "tools/list":
			result = `{"resultType":"complete","tools":[{"name":"slow","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`
		case "tools/call":
			result = `{"resultType":"task","status":"working",` + task + `}`
		case "tasks/get":
			result = `{"resultType":"complete",` + states[0] + "," + task + `}`
			states = states[1:]
		}
		if m.ID != nil {
			reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		}
	})
}
