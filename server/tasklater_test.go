package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The call first asks during the request, and then becomes a task.
func TestTaskLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), newest, tasking)
		j.meta += `,"progressToken":7,"io.modelcontextprotocol/logLevel":"debug"`
		first := j.request("tools/call", `{"name":"test_tool_with_task"}`)
		var asked struct{ ResultType, RequestState string }
		must(t, json.Unmarshal(first.Result, &asked))
		assert.Equal(t, asked.ResultType, "input_required")
		assert.Assert(t, !strings.Contains(first.raw, "taskId"))

		j.start("tools/call",
			fmt.Sprintf(`{"name":"test_tool_with_task","requestState":%q,"inputResponses":{"user_name":{"action":"accept","content":{"name":"Alice"}}}}`,
				asked.RequestState))
		j.next().expectMethod("notifications/progress",
			`{"progressToken":7,"progress":1,"total":3,"message":"before"}`)
		began := j.state(j.next(), "CreateTaskResult")
		assert.Equal(t, began.ResultType, "task")
		assert.DeepEqual(t, keys(t, began.raw),
			[]string{"_meta", "createdAt", "lastUpdatedAt", "pollIntervalMs", "resultType",
				"status", "taskId", "ttlMs"})
		now := j.settled(began.TaskID) // no progress or log message arrives before
		assert.Equal(t, now.Status, "working")
		assert.Equal(t, now.StatusMessage, "2 of 3: behind")
		time.Sleep(time.Second)
		assert.Equal(t, j.settled(began.TaskID).text(), "done for Alice")
	})
}

// A client without tasks gets the result of the same tool.
func TestTaskLaterOrNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		j := newTaskClient(t, s, newest, `{"elicitation":{}}`)
		var asked struct{ RequestState string }
		must(t, json.Unmarshal(j.request("tools/call", `{"name":"test_tool_with_task"}`).Result,
			&asked))
		j.want("tools/call",
			fmt.Sprintf(`{"name":"test_tool_with_task","requestState":%q,"inputResponses":{"user_name":{"action":"accept","content":{"name":"Alice"}}}}`,
				asked.RequestState),
			`{"content":[{"type":"text","text":"done for Alice"}]}`)
		must(t, server.BecomeTask(t.Context())) // outside of a call
	})
}

// Until a call becomes a task, its result and its cancellation are those of the request.
func TestTaskLaterIsARequestUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			add := func(name string,
				call func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error)) {
				must(t, s.AddRawTool(
					server.RawTool{Tool: mcp.Tool{Name: name}, Tasks: mcp.TaskRequired,
						TaskLater: true, Call: call}))
			}
			add("quick", func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return textResult("done"), nil
			})
			add("wrong", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
				return nil, rpc.Errorf(-31001, "wrong")
			})
			add("broken", func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				panic("secret")
			})
			add("hasty", func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				_, _ = elicited(ctx, "name", "name")
				return nil, server.BecomeTask(ctx) // a question is open
			})
			add("waits", func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				<-ctx.Done()
				ended <- server.BecomeTask(ctx)
				return nil, ctx.Err()
			})
		}), newest, tasking)
		j.want("tools/call", `{"name":"quick"}`, `{"content":[{"type":"text","text":"done"}]}`)
		j.expectError("tools/call", `{"name":"wrong"}`, -31001, "wrong")
		j.expectError("tools/call", `{"name":"broken"}`, -32603, "Internal error")
		assert.Assert(t,
			strings.Contains(j.request("tools/call", `{"name":"hasty"}`).raw,
				`"resultType":"input_required"`))
		j.start("tools/call", `{"name":"waits"}`)
		synctest.Wait()
		j.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"_meta":{%s}}}`,
			j.id, j.meta))
		assert.ErrorIs(t, <-ended, rpc.ErrCancelled)
		j.expectNothing()
	})
}
