package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const experimental = "2025-11-25"

// beginNested calls a tool as a task of 2025-11-25.
func (j taskClient) beginNested(tool, task string) state {
	j.t.Helper()
	created := j.state(
		j.request("tools/call",
			fmt.Sprintf(`{"name":%q,"arguments":{"seconds":5},"task":%s}`, tool, task)),
		"CreateTaskResult")
	assert.Assert(j.t, created.Task != nil, created.raw)
	assert.DeepEqual(j.t, keys(j.t, created.raw), []string{"task"})
	assert.Equal(j.t, created.Task.Status, "working")
	return *created.Task
}

func related(id string) string {
	return `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}`
}

// about returns the params that name a task.
func about(id string) string { return `{"taskId":"` + id + `"}` }

func TestExperimentalTasksAreDeclared(t *testing.T) {
	in(t, legacyRevisions, func(t *testing.T, revision string) {
		s := newTaskServer(t, quiet, func(s *server.Server) { // Tasks determines the task support
			tool := mcp.Tool{Name: "upstream",
				Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskRequired}}
			must(t, s.AddRawTool(
				server.RawTool{Tool: tool,
					Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
						return textResult("x"), nil
					}}))
		})
		j := taskClient{connect(t, s), new([]message)}
		declared := strings.Contains(j.speak(revision, `{}`).raw,
			`"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)
		assert.Equal(t, declared, revision == experimental)
		var list struct{ Tools []mcp.Tool }
		must(t, json.Unmarshal(j.request("tools/list", "").Result, &list))
		for _, tool := range list.Tools {
			want := map[string]mcp.TaskSupport{"greet": "", "upstream": "",
				"failing_job": "required", "slow_compute": "optional"}
			support, ok := want[tool.Name]
			switch {
			case !ok:
			case revision != experimental || support == "":
				assert.Assert(t, tool.Execution == nil, tool.Name)
			default:
				assert.Equal(t, tool.Execution.TaskSupport, support)
			}
		}
		if revision == experimental {
			j.expectError("tasks/update", about("x"), -32601, "tasks/update")
			return
		}
		// Clients of older revisions have neither tasks nor the param.
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/result", "tasks/list",
			"tasks/update"} {
			j.expectError(method, about("x"), -32601, method)
		}
		j.expectError("tools/call", `{"name":"failing_job","task":{}}`, -32601,
			"failing_job runs as a task only")
		j.want("tools/call", `{"name":"slow_compute","task":{}}`,
			`{"content":[{"type":"text","text":"computed"}]}`)
	})
}

func TestExperimentalTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		j := newTaskClient(t, s, experimental, `{}`)
		began := j.beginNested("slow_compute", `{"ttl":60000}`)
		assert.Equal(t, *began.TTL, int64(60000))
		assert.Equal(t, *began.PollInterval, int64(1000))
		assert.Assert(t, began.TTLMs == nil && began.PollIntervalMs == nil)
		now := j.get(began.TaskID)
		assert.DeepEqual(t, keys(t, now.raw),
			[]string{"createdAt", "lastUpdatedAt", "pollInterval", "status", "taskId", "ttl"})
		assert.Equal(t, now.Status, "working")

		// tasks/result waits, and other requests are served meanwhile.
		j.start("tasks/result", about(began.TaskID))
		waits := j.id
		synctest.Wait()
		j.want("ping", "", `{}`)
		time.Sleep(5 * time.Second)
		want := `{"content":[{"type":"text","text":"computed"}],` + related(began.TaskID) + `}`
		m := j.next()
		assert.Equal(t, string(m.ID), fmt.Sprint(waits))
		assert.Equal(t, string(m.Result), want)
		j.expectStatus(began.TaskID, "completed")
		j.want("tasks/result", about(began.TaskID), want) // a second time
		now = j.get(began.TaskID)
		assert.Equal(t, now.Status, "completed")
		assert.Assert(t, now.Result == nil, now.raw)
		time.Sleep(time.Minute)
		j.expectError("tasks/result", about(began.TaskID), -32602, "Unknown task")
		j.expectError("tasks/get", about(began.TaskID), -32602, "Unknown task")
		j.want("tasks/list", "", `{"tasks":[]}`)
	})
}

func TestExperimentalTaskOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), experimental, `{}`)
		id := j.beginNested("failing_job", `{}`).TaskID
		time.Sleep(time.Second)
		j.expectStatus(id, "failed")
		now := j.get(id)
		assert.Equal(t, now.Status, "failed")
		assert.Equal(t, now.StatusMessage, "The tool has failed; the result says why.")
		j.want("tasks/result", about(id),
			`{"content":[{"type":"text","text":"no luck"}],"isError":true,`+related(id)+`}`)

		id = j.beginNested("protocol_error_job", `{}`).TaskID
		j.expectStatus(id, "failed")
		assert.Equal(t, j.get(id).StatusMessage, "it broke")
		m := j.expectError("tasks/result", about(id), -31000, "it broke")
		assert.Equal(t, string(m.Error.Data), `{"why":1}`)

		// A client that cannot be asked.
		id = j.beginNested("confirm_delete", `{}`).TaskID
		j.expectStatus(id, "failed")
		j.expectError("tasks/result", about(id), -32602,
			"the client does not declare the capability elicitation")
	})
}

func TestExperimentalTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), experimental, `{}`)
		id := j.beginNested("slow_compute", `{}`).TaskID
		j.start("tasks/result", about(id))
		waits := fmt.Sprint(j.id)
		synctest.Wait()
		j.start("tasks/cancel", about(id))
		answers := map[string]message{}
		for len(answers) < 2 { // in any order
			m := j.next()
			answers[string(m.ID)] = m
		}
		assert.Equal(t, j.state(answers[fmt.Sprint(j.id)], "CancelTaskResult").Status, "cancelled")
		answers[waits].fails(-32602, "cancelled")
		j.expectError("tasks/cancel", about(id), -32602, "it is cancelled")
		j.expectError("tasks/result", about(id), -32602, "cancelled")
		assert.Equal(t, j.get(id).Status, "cancelled")

		id = j.beginNested("failing_job", `{}`).TaskID
		time.Sleep(time.Second)
		j.expectStatus(id, "failed")
		j.expectError("tasks/cancel", about(id), -32602, "it is failed")
	})
}

// Questions are sent during tasks/result, on the connection of that request.
func TestExperimentalTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet), experimental, `{"elicitation":{}}`)
		id := j.beginNested("confirm_delete", `{}`).TaskID
		j.expectStatus(id, "input_required")
		assert.Equal(t, j.get(id).Status, "input_required")
		asked := func(m message) message {
			t.Helper()
			m.expectMethod("elicitation/create", "")
			var params struct {
				Message string
				Meta    json.RawMessage `json:"_meta"`
			}
			must(t, json.Unmarshal(m.Params, &params))
			assert.Equal(t, params.Message, "Your name?")
			assert.Equal(t, `"_meta":`+string(params.Meta), related(id))
			return m
		}
		// If the client cancels tasks/result, the next tasks/result gets the question.
		j.start("tasks/result", about(id))
		asked(j.next())
		j.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, j.id))
		j.next().expectMethod("notifications/cancelled", "") // for the question
		synctest.Wait()
		j.start("tasks/result", about(id))
		question := asked(j.next())
		j.reply(question, `{"action":"accept","content":{"name":"Bob"}}`)
		j.next().is(j.lineClient, `{"content":[{"type":"text","text":"deleted by Bob"}],`+related(id)+`}`)
		j.expectStatus(id, "completed")
	})
}

// An invalid answer, or an error, becomes the error of the handler.
func TestExperimentalTaskIsRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"refused":   `"error":{"code":-32000,"message":"not now"}`,
		"no answer": `"result":{"action":"accept","content":{"name":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newTaskClient(t, newTaskServer(t, quiet), experimental, `{"elicitation":{}}`)
				id := j.beginNested("confirm_delete", `{}`).TaskID
				j.expectStatus(id, "input_required")
				j.start("tasks/result", about(id))
				j.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, j.next().ID, answer))
				m := j.next()
				if name == "refused" {
					m.fails(-32000, "not now")
				} else {
					m.fails(-32603, "Internal error")
				}
			})
		})
	}
}

func TestExperimentalTaskParam(t *testing.T) {
	j := newTaskClient(t, newTaskServer(t, quiet), experimental, `{}`)
	for params, want := range map[string]struct {
		code int
		text string
	}{
		`{"name":"greet","task":{}}`: {-32601,
			"greet does not run as a task"},
		`{"name":"failing_job"}`: {-32601,
			"failing_job runs as a task only"},
		`{"name":"slow_compute","task":[]}`:                {-32602, "task must be an object"},
		`{"name":"slow_compute","task":{"ttl":"1"}}`:       {-32602, "task:"},
		`{"name":"slow_compute","task":{"ttl":-1}}`:        {-32602, "must not be negative"},
		`{"name":"slow_compute","task":{},"task":{}}`:      {-32602, "twice"},
		`{"name":"no_such","task":{}}`:                     {-32602, "Unknown tool"},
		`{"name":"slow_compute","task":{"ttl":1,"ttl":2}}`: {-32602, "task:"},
	} {
		j.expectError("tools/call", params, want.code, want.text)
	}
	j.want("tools/call", `{"name":"greet","arguments":{"Name":"Ann"}}`,
		`{"content":[{"type":"text","text":"Hello, Ann!"}]}`)
	j.want("tools/call", `{"name":"slow_compute"}`,
		`{"content":[{"type":"text","text":"computed"}]}`)
	for wish, want := range map[string]int64{`{}`: 3600_000, `{"ttl":null}`: 3600_000,
		`{"ttl":0}`: 1000, `{"ttl":2000}`: 2000, `{"ttl":9007199254740991}`: 3600_000} {
		began := newTaskClient(t, newTaskServer(t, quiet), experimental, `{}`).beginNested("slow_compute", wish)
		assert.Equal(t, *began.TTL, want, wish)
	}
}

func TestExperimentalTasksAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.PageSize = 2
		s := newTaskServer(t, o)
		j, other := newTaskClient(t, s, experimental, `{}`), newTaskClient(t, s, experimental, `{}`)
		var want []string
		for range 5 {
			want = append(want, j.beginNested("slow_compute", `{}`).TaskID)
			time.Sleep(time.Millisecond)
		}
		var got []string
		sizes := []int{}
		for cursor := `{}`; cursor != ""; {
			m := j.request("tasks/list", cursor)
			fits(t, experimental, "ListTasksResult", string(m.Result))
			var page struct {
				Tasks      []state
				NextCursor string
			}
			must(t, json.Unmarshal(m.Result, &page))
			sizes = append(sizes, len(page.Tasks))
			for _, task := range page.Tasks {
				assert.Equal(t, task.Status, "working")
				got = append(got, task.TaskID)
			}
			cursor = ""
			if page.NextCursor != "" {
				cursor = `{"cursor":"` + page.NextCursor + `"}`
			}
		}
		assert.DeepEqual(t, got, want)
		assert.DeepEqual(t, sizes, []int{2, 2, 1})
		for _, cursor := range []string{`"%"`, `""`, `7`} {
			j.expectError("tasks/list", `{"cursor":`+cursor+`}`, -32602, "cursor")
		}

		// These clients have no principal: each has only the tasks of its connection.
		other.want("tasks/list", "", `{"tasks":[]}`)
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			other.expectError(method, about(want[0]), -32602, "Unknown task")
		}
		newTaskClient(t, s, newest, tasking).expectError("tasks/get", about(want[0]), -32602, "Unknown task")
	})
}

// A task that no client can access any more ends with the connection.
func TestExperimentalTaskEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := server.MemoryTasks(10, 1<<20)
		o := quiet
		o.Tasks.Store = store
		ended := make(chan error, 1)
		s := newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "waits"}, Tasks: mcp.TaskOptional,
					Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult,
						error) {
						<-ctx.Done()
						ended <- ctx.Err()
						return nil, ctx.Err()
					}}))
		})
		j := newTaskClient(t, s, experimental, `{}`)
		id := j.beginNested("waits", `{}`).TaskID
		j.start("tasks/result", about(id))
		synctest.Wait()
		j.stream.Close()
		assert.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		kept, err := store.Get(t.Context(), id)
		assert.NilError(t, err)
		assert.Assert(t, kept == nil)
	})
}

// With a principal, tasks outlive the connection in this era too.
func TestExperimentalTasksOfAPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTaskServer(t, quiet)
		session := func(principal string) func(method, params string) message {
			c := s.Integration().NewConn(t.Context(), server.ConnOptions{Principal: principal})
			t.Cleanup(c.Close)
			return func(method, params string) message {
				t.Helper()
				m, err := rpc.ParseMessage(
					[]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method,
						params)))
				must(t, err)
				text, _ := rpc.AppendResponse(t.Context(), nil,
					func(ctx context.Context, req *rpc.Request) (any, error) {
						return c.Handle(ctx, req, nil)
					}, m.Request())
				answer := message{t: t, raw: string(text)}
				must(t, json.Unmarshal(text, &answer))
				return answer
			}
		}
		const initialize = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
		ann := session("ann")
		ann("initialize", initialize)
		var began state
		must(t, json.Unmarshal(
			ann("tools/call", `{"name":"slow_compute","arguments":{"seconds":1},"task":{}}`).Result,
			&began))
		again, bob := session("ann"), session("bob")
		again("initialize", initialize)
		bob("initialize", initialize)
		time.Sleep(time.Second)
		assert.Assert(t,
			strings.Contains(again("tasks/result", about(began.Task.TaskID)).raw, "computed"))
		assert.Assert(t, strings.Contains(again("tasks/list", `{}`).raw, began.Task.TaskID))
		bob("tasks/result", about(began.Task.TaskID)).fails(-32602, "Unknown task")
		assert.Equal(t, string(bob("tasks/list", `{}`).Result), `{"tasks":[]}`)
	})
}

func TestWaitersForATaskAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Limits.MaxRunning = 2 // requests that wait do not count
		j := newTaskClient(t, newTaskServer(t, o), experimental, `{}`)
		id := j.beginNested("slow_compute", `{}`).TaskID
		for range 8 {
			j.start("tasks/result", about(id))
		}
		synctest.Wait()
		j.expectError("tasks/result", about(id), rpc.CodeBusy, "8 requests wait")
		time.Sleep(5 * time.Second)
		var ids []string
		for range 8 {
			ids = append(ids, string(j.next().ID))
		}
		slices.Sort(ids)
		assert.DeepEqual(t, ids, []string{"10", "3", "4", "5", "6", "7", "8", "9"})
		j.want("tasks/result", about(id), `{"content":[{"type":"text","text":"computed"}],`+
			related(id)+`}`)
	})
}

// The result keeps its own _meta.
func TestExperimentalTaskResultKeepsItsMeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newTaskClient(t, newTaskServer(t, quiet, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "meta"}, Tasks: mcp.TaskOptional,
					Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
						result := textResult("x")
						result.Meta = mcp.Meta{"a": json.RawMessage(`1`),
							"io.modelcontextprotocol/related-task": json.RawMessage(`2`)}
						return result, nil
					}}))
		}), experimental, `{}`)
		id := j.beginNested("meta", `{}`).TaskID
		j.expectStatus(id, "completed")
		j.want("tasks/result", about(id),
			`{"content":[{"type":"text","text":"x"}],"_meta":{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"`+
				id+`"}}}`)
	})
}

// A client whose next request may reach another server has no tasks.
func TestPortableConnectionsHaveNoTasks(t *testing.T) {
	s := newTaskServer(t, quiet)
	c := s.Integration().NewConn(t.Context(),
		server.ConnOptions{Principal: "ann", Session: server.SessionCarried})
	defer c.Close()
	ask := func(method, params string) message {
		t.Helper()
		m, err := rpc.ParseMessage(
			[]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
		must(t, err)
		text, _ := rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, req *rpc.Request) (any, error) {
				return c.Handle(ctx, req, nil)
			}, m.Request())
		answer := message{t: t, raw: string(text)}
		must(t, json.Unmarshal(text, &answer))
		return answer
	}
	hello := ask("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	assert.Assert(t, !strings.Contains(hello.raw, `"tasks"`), hello.raw)
	assert.Assert(t, !strings.Contains(ask("tools/list", `{}`).raw, "taskSupport"))
	ask("tasks/list", `{}`).fails(-32600, "servers that share their sessions")
	ask("tools/call", `{"name":"failing_job","task":{}}`).fails(-32601, "runs as a task only")
	assert.Assert(t,
		strings.Contains(ask("tools/call", `{"name":"slow_compute","task":{}}`).raw, "computed"))
}

// Who may not see a tool any more does not know of its tasks, in either era, and is not told of
// them.
func TestTaskOfHiddenTool(t *testing.T) {
	for _, revision := range []string{experimental, newest} {
		synctest.Test(t, func(t *testing.T) {
			o := quiet
			var hidden atomic.Bool
			o.Visible = func(_ context.Context, kind mcp.Kind, key string) bool {
				return kind != mcp.KindTool || key != "slow_compute" || !hidden.Load()
			}
			j := newTaskClient(t, newTaskServer(t, o), revision, tasking)
			const unknown = "Unknown task: "
			if j.modern() {
				id := j.begin("slow_compute", `{"seconds":5}`).TaskID
				j.get(id)
				hidden.Store(true)
				for _, method := range []string{"tasks/get", "tasks/cancel"} {
					j.expectError(method, about(id), -32602, unknown+id)
				}
				j.expectError("tasks/update", `{"taskId":"`+id+`","inputResponses":{}}`, -32602,
					unknown+id)
				hidden.Store(false)
				assert.Equal(t, j.get(id).Status, "working", "it was not cancelled")
				return
			}
			id := j.beginNested("slow_compute", `{"ttl":60000}`).TaskID
			assert.Assert(t, strings.Contains(j.request("tasks/list", "").raw, id))
			hidden.Store(true)
			for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/result"} {
				j.expectError(method, about(id), -32602, unknown+id)
			}
			assert.Assert(t, !strings.Contains(j.request("tasks/list", "").raw, id))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			j.want("ping", "", `{}`)
			for _, m := range *j.statuses {
				assert.Assert(t, !strings.Contains(m.raw, "completed"), m.raw)
			}
			hidden.Store(false)
			assert.Equal(t, j.get(id).Status, "completed")
		})
	}
}
