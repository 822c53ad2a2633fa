package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// serveLater is a modern server written by hand, whose tool becomes a task with some states.
func serveLater([]string) {
	states := []string{
		`"status":"working","statusMessage":"one \u001b[2Jof two"`, `"status":"working","statusMessage":"one \u001b[2Jof two"`, `"status":"working","statusMessage":"two of two"`,
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

// With --watch, a call that has become a task shows what state that is in whenever it changes, and nothing by which others could take it up.
func TestWatchedTask(t *testing.T) {
	got := against(t, "call slow --watch", "later")
	stderr := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(got.stderr, "")
	assert.Equal(t, stderr, "task working\ntask working: one of two\ntask working: two of two\ntask completed\n")
	assert.Equal(t, got.stdout, "done\n")
	assert.Equal(t, against(t, "call slow", "later"), ran{0, "done\n", ""})
}

// On a terminal the status of a task is in the line that goes away again.
func TestStatusOfATask(t *testing.T) {
	got := onTerminal(t, "", "call slow", "later")
	assert.Assert(t, strings.Contains(got.stderr, "slow: task working: two of two"), "%q", got.stderr)
}
