package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// grinder serves a tool over HTTP that becomes a task and ends when end is closed.
func grinder(t *testing.T, end chan struct{}) (url string) {
	t.Helper()
	s := server.Options{Logger: slog.New(slog.DiscardHandler),
		Tasks: server.TaskOptions{PollInterval: 100 * time.Millisecond}}.New(
		server.Info{Name: "mill", Version: "1"}, dispatch.NewCatalog())
	assert.NilError(t, s.AddRawTool(server.RawTool{
		Tool:  mcp.Tool{Name: "grind", InputSchema: json.RawMessage(`{"type":"object"}`)},
		Tasks: mcp.TaskOptional,
		Call: func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			select {
			case <-end:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return &mcp.CallToolResult{IsError: strings.Contains(string(arguments), "fail"),
				Content: []mcp.Content{&mcp.TextContent{Text: "flour"}}}, nil
		},
	}))
	handler := streamable.New(s)
	remote := httptest.NewServer(handler)
	t.Cleanup(func() {
		remote.Close()
		handler.Close()
		assert.NilError(t, s.Close(context.Background()))
	})
	return remote.URL
}

// The task of a modern server is found by its id from another process.
func TestTask(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	at := []string{"--url", grinder(t, end)}
	start := func(more ...string) string {
		got := run(t, append(append([]string{"call", "grind", "--task"}, more...), at...)...)
		assert.Equal(t, got.code, 0, got.stderr)
		return strings.TrimSuffix(got.stdout, "\n")
	}
	task := func(args ...string) ran {
		return run(t, append(append([]string{"task"}, args...), at...)...)
	}

	id, failing := start(), start("-d", `{"fail":true}`)
	assert.Equal(t, task("get", id), ran{0, "working\n", ""})
	got := task("get", id, "-o", "json")
	var state mcp.Task
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &state))
	assert.Equal(t, state.TaskID, id)
	cancelled := start()
	assert.Equal(t, task("cancel", cancelled).stdout, "cancelled: The client has cancelled it.\n")
	got = task("get", cancelled)
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "cancelled"))
	got = task("get", id, "--wait", "--timeout", "300ms")
	assert.Equal(t, got.code, 6, got.stderr)

	close(end)
	assert.Equal(t, task("get", id, "--wait"), ran{0, "flour\n", ""})
	assert.Equal(t, task("get", id), ran{0, "flour\n", ""})
	got = task("get", id, "-o", "json")
	assert.Equal(t, got.code, 0)
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &state))
	assert.Equal(t, state.Status, mcp.TaskCompleted)
	assert.Assert(t, cmp.Contains(string(state.Result), "flour"))
	for _, output := range []string{"text", "json"} {
		got = task("get", failing, "--wait", "-o", output)
		assert.Equal(t, got.code, 5)
		assert.Equal(t, got.stdout != "", output == "json")
	}

	// The unhappy path.
	got = task("list")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "the server has no list of tasks"))
	for _, sub := range []string{"get", "cancel"} {
		got = task(sub, "unknown")
		assert.Equal(t, got.code, 5, got.stderr)
		assert.Equal(t, got.stdout, "")
		assert.Equal(t, task(sub).code, 2)
		assert.Equal(t, task(sub, id, "more").code, 2)
		got = against(t, "task "+sub+" x", "good")
		assert.Equal(t, got.code, 5)
		assert.Assert(t, cmp.Contains(got.stderr, "the server has no"))
	}
	assert.Equal(t, run(t, "task").code, 2)

	// A call that does not become a task.
	got = against(t, "call --task echo text=hi", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stderr, "note: echo did not become a task\n")
	assert.Assert(t, got.stdout != "")
}

// serveTasks is a server of 2025-11-25 with three tasks.
func serveTasks([]string) {
	const times = `"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:05Z","ttl":60000,"pollInterval":100`
	state := func(id, status, message string) string {
		return fmt.Sprintf(`{"taskId":%q,"status":%q,"statusMessage":%q,%s}`, id, status, message, times)
	}
	states := map[string]string{"a": state("a", "working", "one\u200b of two"),
		"b": state("b", "completed", ""), "c": state("c", "failed", "no flour")}
	serveLines(func(m message, reply func(string)) {
		answer := ""
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{}}},"serverInfo":{"name":"tasks","version":"1"}}`
		case "tasks/list":
			answer = `"result":{"tasks":[` + states["a"] + "," + states["b"] + "," + states["c"] + `]}`
		case "tasks/get":
			answer = `"result":` + states[m.Params.TaskID]
		case "tasks/cancel":
			states["a"] = state("a", "cancelled", "")
			answer = `"result":` + states["a"]
		case "tasks/result":
			answer = `"result":{"content":[{"type":"text","text":"flour"}]}`
			if m.Params.TaskID == "c" {
				answer = `"error":{"code":-32603,"message":"no flour"}`
			}
		default:
			answer = `"error":{"code":-32601,"message":"Method not found"}`
		}
		if m.ID != nil {
			reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer))
		}
	})
}

func TestTasksOf2025(t *testing.T) {
	t.Parallel()
	got := against(t, "task list", "tasks")
	assert.Equal(t, got.stdout, `a  working    2026-01-01T00:00:05Z  one\u200b of two
b  completed  2026-01-01T00:00:05Z
c  failed     2026-01-01T00:00:05Z  no flour
`, got.stderr)
	got = against(t, "task list -o json", "tasks")
	var list []mcp.Task
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &list))
	assert.Equal(t, len(list), 3)
	assert.Equal(t, against(t, "task get a", "tasks"), ran{0, `working: one\u200b of two` + "\n", ""})
	assert.Equal(t, against(t, "task get b", "tasks"), ran{0, "flour\n", ""})
	got = against(t, "task get c", "tasks")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "no flour"))
	assert.Equal(t, against(t, "task cancel a", "tasks"), ran{0, "cancelled\n", ""})
	got = against(t, "task get b -o json", "tasks")
	assert.Assert(t, cmp.Contains(got.stdout, `"result":{"content"`))
}
