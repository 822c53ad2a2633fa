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

func TestTaskNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		j, watcher := newTaskClient(t, s, newest, tasking), newTaskClient(t, s, newest, tasking)
		foreign := newTaskClient(t, s, experimental, `{}`).beginNested("slow_compute", `{}`).TaskID
		one, other, done := j.begin("confirm_delete", `{}`).TaskID,
			j.begin("multi_input", `{}`).TaskID, j.begin("slow_compute", `{"seconds":0}`).TaskID
		synctest.Wait()
		watcher.start("subscriptions/listen",
			fmt.Sprintf(`{"notifications":{"taskIds":[%q,"x",%q,%q,%[1]q],"toolsListChanged":true}}`,
				one, foreign, done))
		watcher.next().expectMethod("notifications/subscriptions/acknowledged",
			fmt.Sprintf(`{"notifications":{"toolsListChanged":true,"taskIds":[%q,%q]},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`,
				one, done))
		told := func() state {
			t.Helper()
			m := watcher.next().expectMethod("notifications/tasks", "")
			fits(t, draft, "TaskStatusNotification", m.raw)
			assert.Assert(t,
				strings.Contains(m.raw, `"_meta":{"io.modelcontextprotocol/subscriptionId":1}`),
				m.raw)
			var now state
			must(t, json.Unmarshal(m.Params, &now))
			now.raw = m.raw
			return now
		}
		// The first notifications contain the current states, because one of the tasks has ended
		// and would not be reported again.
		first := map[string]string{}
		for range 2 {
			now := told()
			first[now.TaskID] = now.Status
		}
		assert.DeepEqual(t, first, map[string]string{one: "input_required", done: "completed"})

		// no subscription includes this task
		j.update(other, `{"first":{"action":"cancel"},"second":{"action":"cancel"}}`)
		j.update(one, `{"name":{"action":"accept","content":{"name":"Bob"}}}`)
		now := told()
		for now.Status == "working" { // whether this state is reported depends on timing
			now = told()
		}
		assert.Equal(t, now.TaskID, one)
		assert.Equal(t, now.text(), "deleted by Bob")
		assert.Assert(t, now.ResultType == "", now.raw)
		watcher.start("no/such", "")
		for m := watcher.next(); m.Method != ""; m = watcher.next() { // at most the last one again
			assert.Equal(t, m.raw, now.raw)
		}
	})
}

// A task outlives the connection of its call, and does not exist for others.
func TestTasksBelongToPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		as := func(principal, method, params string) message {
			t.Helper()
			c := s.Integration().NewConn(t.Context(), server.ConnOptions{Principal: principal})
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m, err := rpc.ParseMessage(
				[]byte(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
				"io.modelcontextprotocol/clientCapabilities":%s},%s}}`, method, tasking, params)))
			must(t, err)
			text, _ := rpc.AppendResponse(ctx, nil,
				func(ctx context.Context, req *rpc.Request) (any, error) {
					return c.Handle(ctx, req, nil)
				}, m.Request())
			answer := message{t: t, raw: string(text)}
			must(t, json.Unmarshal(text, &answer))
			return answer
		}
		for _, principal := range []string{"ann", ""} {
			var began, now state
			must(t, json.Unmarshal(
				as(principal, "tools/call",
					`"name":"slow_compute","arguments":{"seconds":1}`).Result, &began))
			id := `"taskId":"` + began.TaskID + `"`
			time.Sleep(500 * time.Millisecond)
			for _, other := range []string{"bob", "ann", ""} {
				if other != principal {
					as(other, "tasks/get", id).fails(-32602, "Unknown task")
					as(other, "tasks/cancel", id).fails(-32602, "Unknown task")
					as(other, "tasks/update", id+`,"inputResponses":{}`).fails(-32602,
						"Unknown task")
				}
			}
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			as("bob", "tasks/get", id).fails(-32602, "Unknown task") // also not after its end
			must(t, json.Unmarshal(as(principal, "tasks/get", id).Result, &now))
			assert.Equal(t, now.Status, "completed")
			assert.Equal(t, now.text(), "computed")
		}
	})
}

func TestToolsForTasksAreChecked(t *testing.T) {
	s := made(quiet)
	call := func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return textResult("x"), nil
	}
	for _, tool := range []server.RawTool{{Tasks: "sometimes"}, {TaskLater: true},
		{TaskLater: true, Tasks: mcp.TaskForbidden}} {
		tool.Name, tool.Call = "t", call
		assert.ErrorContains(t, s.AddRawTool(tool), "Tasks is forbidden, optional or required")
	}
}

func TestTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := make(chan error, 1)
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "stubborn"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						<-ctx.Done()
						cause <- context.Cause(ctx)
						return textResult("too late"), nil
					}}))
		}), newest, tasking)
		id := j.begin("stubborn", `{}`).TaskID
		for range 2 { // a second cancellation is acknowledged as well
			m := j.request("tasks/cancel", `{"taskId":"`+id+`"}`)
			m.is(j.lineClient, `{}`)
			fits(t, draft, "CancelTaskResult", string(m.Result))
			now := j.settled(id)
			assert.Equal(t, now.Status, "cancelled")
			assert.Assert(t, now.Result == nil && now.Error == nil, now.raw)
		}
		assert.ErrorContains(t, <-cause, "cancelled the task")
		j.update(id, `{"a":{}}`)

		id = j.begin("slow_compute", `{"seconds":0}`).TaskID
		assert.Equal(t, j.settled(id).Status, "completed")
		j.want("tasks/cancel", `{"taskId":"`+id+`"}`, `{}`)
		assert.Equal(t, j.get(id).Status, "completed")
	})
}

func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		j := newTaskClient(t, s, newest, tasking)
		found := j.request("server/discover", "")
		assert.Assert(t, strings.Contains(found.raw, `"extensions":{"`+extension+`":{}}`),
			found.raw)
		assert.Assert(t, !strings.Contains(found.raw, `"tasks":{`), found.raw)

		j.want("tools/call", `{"name":"greet","arguments":{"Name":"Ann"},"task":{"ttl":1}}`,
			`{"content":[{"type":"text","text":"Hello, Ann!"}]}`)

		began := j.begin("slow_compute", `{"seconds":5}`)
		assert.DeepEqual(t, keys(t, began.raw),
			[]string{"_meta", "createdAt", "lastUpdatedAt", "pollIntervalMs", "resultType",
				"status", "taskId", "ttlMs"})
		assert.Equal(t, *began.TTLMs, int64(3600_000))
		assert.Equal(t, *began.PollIntervalMs, int64(1000))
		_, err := time.Parse(time.RFC3339, began.CreatedAt)
		assert.NilError(t, err)
		now := j.get(began.TaskID)
		assert.DeepEqual(t, keys(t, now.raw), keys(t, began.raw))
		assert.Equal(t, now.Status, "working")
		assert.Equal(t, now.ResultType, "complete")

		time.Sleep(5 * time.Second)
		now = j.settled(began.TaskID)
		assert.Equal(t, now.Status, "completed")
		assert.Equal(t, now.ResultType, "complete")
		assert.Equal(t, now.text(), "computed")
		assert.Assert(t, now.Result.Meta["io.modelcontextprotocol/related-task"] == nil)
		assert.Equal(t, now.CreatedAt, began.CreatedAt)
		assert.Assert(t, now.LastUpdatedAt > began.LastUpdatedAt)
		assert.Equal(t, *now.TTLMs, int64(3605_000)) // since its creation

		time.Sleep(time.Hour - time.Millisecond)
		assert.Equal(t, j.get(began.TaskID).Status, "completed")
		time.Sleep(time.Millisecond)
		j.expectError("tasks/get", `{"taskId":"`+began.TaskID+`"}`, -32602, "Unknown task")
	})
}

func TestTaskOutcomes(t *testing.T) {
	for tool, want := range map[string]struct {
		status, message string
		code            int
	}{
		"failing_job":        {"completed", "", 0},
		"protocol_error_job": {"failed", "it broke", -31000},
		"panics":             {"failed", "Internal error", -32603},
		"exits":              {"failed", "Internal error", -32603},
		"fails":              {"failed", withheld, -32603},
		"returns_nonsense":   {"failed", "Internal error", -32603},
	} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newTaskClient(t, newTaskServer(t, quiet), newest, tasking)
				began := j.begin(tool, `{}`)
				time.Sleep(time.Second)
				now := j.settled(began.TaskID)
				assert.Equal(t, now.Status, want.status, now.raw)
				assert.Equal(t, now.StatusMessage, want.message)
				if want.code == 0 {
					assert.Assert(t, now.Error == nil && now.Result.IsError, now.raw)
					return
				}
				assert.Assert(t, now.Result == nil, now.raw)
				assert.Equal(t, now.Error.Code, want.code)
				assert.Equal(t, now.Error.Message, want.message)
				assert.Assert(t, !strings.Contains(now.raw, "secret"))
				if tool == "protocol_error_job" {
					assert.Equal(t, string(now.Error.Data), `{"why":1}`)
				}
			})
		})
	}
}

func TestTasksNeedTheExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		id := newTaskClient(t, s, newest, tasking).begin("slow_compute", `{"seconds":1}`).TaskID
		for _, capabilities := range []string{`{}`, `{"extensions":{}}`, `{"extensions":{"` +
			extension + `":true}}`, `{"tasks":{"requests":{"tools":{"call":{}}}}}`} {
			j := newTaskClient(t, s, newest, capabilities)
			for method, params := range map[string]string{
				"tasks/get": `{"taskId":"` + id + `"}`, "tasks/cancel": `{"taskId":"` + id + `"}`,
				"tasks/update":         `{"taskId":"` + id + `","inputResponses":{}}`,
				"tools/call":           `{"name":"failing_job"}`,
				"subscriptions/listen": `{"notifications":{"taskIds":["` + id + `"]}}`,
			} {
				m := j.expectError(method, params, -32021, extension)
				assert.Equal(t, string(m.Error.Data), `{"requiredCapabilities":{"extensions":{"`+
					extension+`":{}}}}`)
			}
			j.want("tools/call", `{"name":"slow_compute","arguments":{"seconds":1},"task":{}}`,
				`{"content":[{"type":"text","text":"computed"}]}`)
		}
	})
}

func TestTaskMethodsRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), newest, tasking)
		id := j.begin("confirm_delete", `{}`).TaskID
		for _, tc := range []struct {
			method, params string
			code           int
			text           string
		}{
			{"tasks/result", `{"taskId":"` + id + `"}`, -32601,
				"tasks/result is not part of revision 2026-07-28"},
			{"tasks/list", `{}`, -32601, "tasks/list is not part of revision 2026-07-28"},
			{"tasks/get", `{"taskId":"x"}`, -32602, "Unknown task: x"},
			{"tasks/update", `{"taskId":"x","inputResponses":{}}`, -32602, "Unknown task: x"},
			{"tasks/cancel", `{"taskId":"x"}`, -32602, "Unknown task: x"},
			{"tasks/get", `{}`, -32602, "taskId is required"},
			{"tasks/get", `{"taskId":1}`, -32602, "taskId must be a string"},
			{"tasks/update", `{"taskId":"` + id + `"}`, -32602, "inputResponses is required"},
			{"tasks/update", `{"taskId":"` + id + `","inputResponses":[]}`, -32602,
				"inputResponses is required and must be an object"},
			{"tasks/update", `{"taskId":"` + id + `","inputResponses":{"name":1}}`, -32602,
				`"name" must be an object`},
		} {
			synctest.Wait()
			j.expectError(tc.method, tc.params, tc.code, tc.text)
		}
		assert.Equal(t, j.get(id).Status, "input_required")

		// A server without tools that may become tasks does not have them.
		none := newTaskClient(t, made(quiet), newest, tasking)
		none.expectError("tasks/get", `{"taskId":"x"}`, -32601, "tasks/get")
		assert.Assert(t, !strings.Contains(none.request("server/discover", "").raw, extension))
	})
}
