package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// offerJobs adds tools that run as tasks: job waits until it is released or ended, curious asks who
// the user is, and large has a result of 20 MiB.
func (w *fixture) offerJobs(t testing.TB) {
	add := func(name string, call func(context.Context) (*mcp.CallToolResult, error)) {
		assert.NilError(t, w.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
			Tasks: mcp.TaskOptional,
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return call(ctx)
			}}))
	}
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add("quick", func(ctx context.Context) (*mcp.CallToolResult, error) { return text("quick"), nil })
	add("job", func(ctx context.Context) (*mcp.CallToolResult, error) {
		w.begun <- "job"
		select {
		case <-w.release:
			return text("<done>"), nil
		case <-ctx.Done():
			w.ended <- context.Cause(ctx)
			return nil, context.Cause(ctx)
		}
	})
	add("curious", func(ctx context.Context) (*mcp.CallToolResult, error) {
		answer, err := server.Elicit(ctx, "name", mcp.ElicitParams{Message: "Who?",
			RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
		if err != nil {
			return nil, err
		}
		return text(string(answer.Content)), nil
	})
	add("large", func(context.Context) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", 20<<20)), nil
	})
}

// shareTasks is share, for servers with jobs. They end before their stores.
func shareTasks(t *testing.T, n int, o streamable.Options, open func() *streamable.Store) []*site {
	sites := share(t, n, o, open)
	for _, s := range sites {
		s.offerJobs(t)
		t.Cleanup(func() { assert.Check(t, s.server.Close(context.Background()) == nil) })
	}
	return sites
}

// A taskState is a task in a form of either era, or an error.
type taskState struct {
	raw           string
	TaskID        string
	Status        string
	StatusMessage string
	ResultType    string
	InputRequests map[string]struct{ Method string }
	Result        *struct{ Content []struct{ Text string } }
	Task          *taskState
	Tasks         []taskState
	failure       struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

func (s *taskState) text() string {
	if s.Result == nil || len(s.Result.Content) == 0 {
		return s.raw
	}
	return s.Result.Content[0].Text
}

// readTask reads what the answer says of a task.
func readTask(a *answer) *taskState {
	a.t.Helper()
	return readTaskText(a.t, a.text())
}

func readTaskText(t testing.TB, text string) *taskState {
	t.Helper()
	var m struct {
		Result json.RawMessage
		Params json.RawMessage
		Error  *struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	assert.NilError(t, json.Unmarshal([]byte(text), &m), "%.1000s", text)
	s := &taskState{raw: text}
	if m.Error != nil {
		s.failure = *m.Error
		return s
	}
	if m.Result == nil {
		m.Result = m.Params
	}
	assert.NilError(t, json.Unmarshal(m.Result, s), "%.1000s", text)
	return s
}

const tasking = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// task sends a modern request about tasks, as a.
func (s *site) task(method, name, params string) *taskState {
	s.t.Helper()
	return readTask(s.taskAs("a", method, name, params))
}

func (s *site) taskAs(who, method, name, params string) *answer {
	s.t.Helper()
	h := "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: " + method + "\nAuthorization: Bearer " + who
	if name != "" {
		h += "\nMcp-Name: " + name
	}
	return s.do(s.t.Context(), "POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"`+method+
		`","params":{`+params+`,`+tasking+`}}`, header(h))
}

func (s *site) begin(tool string) string {
	s.t.Helper()
	got := s.task("tools/call", tool, `"name":"`+tool+`"`)
	assert.Equal(s.t, got.ResultType, "task", got.raw)
	return got.TaskID
}

func (s *site) about(method, id string) *taskState {
	s.t.Helper()
	return s.task(method, id, `"taskId":"`+id+`"`)
}

// until polls a task until it has a status. It must not fail meanwhile.
func (s *site) until(id, status string) (got *taskState) {
	s.t.Helper()
	eventually.True(s.t, status, func() bool {
		got = s.about("tasks/get", id)
		assert.Equal(s.t, got.failure.Code, 0, got.raw)
		assert.Assert(s.t, got.Status == status || got.Status != "failed", got.raw)
		return got.Status == status
	})
	return got
}

var asBearer = streamable.Options{Principal: byToken}

// A task of a modern client is found, answered, cancelled and followed at any replica, by its
// principal only.
func TestReplicasShareTasks(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := shareTasks(t, 2, asBearer, open)
		here, there := sites[0], sites[1]
		id := here.begin("curious")
		assert.Equal(t, there.until(id, "input_required").InputRequests["name"].Method,
			"elicitation/create")
		listening := there.taskAs("a", "subscriptions/listen", "",
			`"notifications":{"taskIds":["`+id+`","x"]}`).isStream()
		listening.event(`"taskIds":["` + id + `"]`)
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			for _, s := range sites { // nobody else learns that there is such a task
				got := readTask(s.taskAs("b", method, id, `"taskId":"`+id+`","inputResponses":{}`))
				assert.Equal(t, got.failure.Code, -32602, got.raw)
				assert.Assert(t, strings.Contains(got.failure.Message, "Unknown task"), got.raw)
			}
		}
		// The first answer counts, and one to no question is ignored.
		for _, name := range []string{"Ada", "late"} {
			got := there.task("tasks/update", id, `"taskId":"`+id+
				`","inputResponses":{"no":{},"name":{"action":"accept","content":{"name":"`+name+`"}}}`)
			assert.Equal(t, got.failure.Code, 0, got.raw)
		}
		assert.Equal(t, there.until(id, "completed").text(), `{"name":"Ada"}`)
		assert.Equal(t, here.until(id, "completed").text(), `{"name":"Ada"}`)
		listening.until(`"status":"completed"`)

		id = here.begin("job")
		<-here.begun
		got := there.about("tasks/cancel", id)
		assert.Equal(t, got.failure.Code, 0, got.raw)
		assert.Equal(t, there.about("tasks/get", id).Status, "cancelled")
		assert.ErrorContains(t, <-here.ended, "cancelled")
		here.until(id, "cancelled")
		there.about("tasks/cancel", id) // again, as in one process

		var group sync.WaitGroup
		for i := range 20 { // all at once
			group.Go(func() { sites[1-i%2].until(sites[i%2].begin("quick"), "completed") })
		}
		group.Wait()
		id = here.begin("quick")
		assert.Equal(t, there.until(id, "completed").text(), "quick")

		id = here.begin("large")
		got = there.until(id, "failed")
		assert.Assert(t, strings.Contains(got.StatusMessage, "which is too large"), got.raw)

		id = here.begin("job")
		<-here.begun
		here.release <- struct{}{}
		there.until(id, "completed")
		// What no server has made is looked up nowhere.
		for _, odd := range []string{"x", strings.Repeat("9", 4000), id + "/", "task/" + id, "{a}",
			"00000000000-" + strings.Repeat("A", 25)} {
			assert.Equal(t, there.about("tasks/get", odd).failure.Code, -32602)
		}
		// The server that runs a task ends, and says so.
		id = here.begin("job")
		<-here.begun
		here.handler.Close()
		<-here.ended
		got = there.until(id, "failed")
		assert.Equal(t, got.StatusMessage, "The server was shut down before the task was done")
	})
}

// taskOf sends a request about tasks in a session.
func (c *client) taskOf(method, params string) *taskState {
	c.t.Helper()
	return readTask(c.post(`{"jsonrpc":"2.0","id":"`+fmt.Sprint(method, params)[:8]+`","method":"`+
		method+`","params":{`+params+`}}`, "-Accept\nAccept: application/json"))
}

// The tasks of a legacy client are those of its session, at any replica.
func TestReplicasShareTasksOfSessions(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := shareTasks(t, 2, streamable.Options{Heartbeat: 20 * time.Millisecond}, open)
		hello := sites[0].do(t.Context(), "POST", sites[0].url,
			strings.Replace(initialize, "REVISION", "2025-11-25", 1), "").text()
		assert.Assert(t, strings.Contains(hello, `"tasks":{"list":{},"cancel":{},"requests":`), hello)
		c := sites[0].connect("2025-11-25", "")
		other, stranger := c.at(sites[1]), sites[1].connect("2025-11-25", "")
		next := 0
		begin := func(tool string) string {
			t.Helper()
			next++
			got := readTask(c.post(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"task":{"ttl":60000}}}`,
				next, tool), "-Accept\nAccept: application/json"))
			assert.Assert(t, got.Task != nil, got.raw)
			return got.Task.TaskID
		}
		about := func(c *client, method, id string) *taskState {
			t.Helper()
			return c.taskOf(method, `"taskId":"`+id+`"`)
		}
		told := other.get("").isStream()
		id := begin("curious")
		eventually.True(t, "the question", func() bool {
			return about(other, "tasks/get", id).Status == "input_required"
		})
		for _, s := range sites {
			assert.Equal(t, about(stranger.at(s), "tasks/get", id).failure.Code, -32602)
			assert.Equal(t, len(stranger.at(s).taskOf("tasks/list", ``).Tasks), 0)
			listed := c.at(s).taskOf("tasks/list", ``).Tasks
			assert.Equal(t, len(listed), 1)
			assert.Equal(t, listed[0].TaskID, id)
		}
		// tasks/result asks where it was sent, and the answer may arrive anywhere.
		waiting := other.post(`{"jsonrpc":"2.0","id":77,"method":"tasks/result","params":{"taskId":"`+
			id+`"}}`, "").isStream()
		var question struct {
			ID     json.Number
			Params struct {
				Meta map[string]struct{ TaskID string } `json:"_meta"`
			}
		}
		asked := waiting.until("Who?").data
		assert.NilError(t, json.Unmarshal([]byte(asked), &question))
		assert.Equal(t, question.Params.Meta["io.modelcontextprotocol/related-task"].TaskID, id, asked)
		assert.Equal(t, c.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
			`,"result":{"action":"accept","content":{"name":"Bob"}}}`, "").StatusCode, 202)
		waiting.until(`{\"name\":\"Bob\"}`)
		waiting.ends()
		assert.Equal(t, about(other, "tasks/get", id).Status, "completed")
		again := other.post(`{"jsonrpc":"2.0","id":78,"method":"tasks/result","params":{"taskId":"`+
			id+`"}}`, "").text()
		assert.Assert(t, strings.Contains(again, `{\"name\":\"Bob\"}`), again)
		told.until(`"status":"completed"`)

		id = begin("job")
		<-sites[0].begun
		waiting = other.post(`{"jsonrpc":"2.0","id":79,"method":"tasks/result","params":{"taskId":"`+
			id+`"}}`, "")
		assert.Equal(t, about(other, "tasks/cancel", id).Status, "cancelled")
		assert.ErrorContains(t, <-sites[0].ended, "cancelled")
		assert.Assert(t, strings.Contains(waiting.text(), "The task was cancelled"))
		got := about(c, "tasks/cancel", id)
		assert.Equal(t, got.failure.Code, -32602, got.raw)
		// The error of a client is that of the handler.
		id = begin("curious")
		waiting = other.post(`{"jsonrpc":"2.0","id":80,"method":"tasks/result","params":{"taskId":"`+
			id+`"}}`, "").isStream()
		assert.NilError(t, json.Unmarshal([]byte(waiting.until("Who?").data), &question))
		other.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
			`,"error":{"code":-32000,"message":"not now"}}`, "")
		waiting.until(`"code":-32000,"message":"not now"`)
		// Of two requests that wait, one asks; if its client leaves, the other does.
		id = begin("curious")
		ctx, leave := context.WithCancel(t.Context())
		var both [2]*answer
		for i, ctx := range []context.Context{ctx, t.Context()} {
			both[i] = other.do(ctx, "POST", other.url, fmt.Sprintf(
				`{"jsonrpc":"2.0","id":"w%d","method":"tasks/result","params":{"taskId":%q}}`, i, id),
				header("Mcp-Session-Id: "+c.id)).isStream()
			if i == 0 {
				both[i].until("Who?")
			}
		}
		leave()
		other.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w0"}}`,
			"")
		assert.NilError(t, json.Unmarshal([]byte(both[1].until("Who?").data), &question))
		other.post(`{"jsonrpc":"2.0","id":`+question.ID.String()+
			`,"result":{"action":"accept","content":{"name":"Cay"}}}`, "")
		both[1].until(`{\"name\":\"Cay\"}`)
		// The tasks of a session end with it.
		begin("job")
		<-sites[0].begun
		assert.Equal(t, other.do(t.Context(), "DELETE", other.url, "",
			header("Mcp-Session-Id: "+c.id)).StatusCode, 204)
		assert.ErrorContains(t, <-sites[0].ended, "cancelled")
	})
}

// While the store is away no task begins, and clients are told to try again. What ends meanwhile
// is there when the store is, although that has lost everything.
func TestTasksWithoutTheirStore(t *testing.T) {
	of := redistest.Start(t)
	sites := shareTasks(t, 2, asBearer, func() *streamable.Store { return openStore(t, of) })
	here, there := sites[0], sites[1]
	id := here.begin("job")
	<-here.begun
	of.Kill()
	busy := func(got *taskState) {
		t.Helper()
		assert.Equal(t, got.failure.Code, -31999, got.raw)
		assert.Equal(t, string(got.failure.Data), `{"retryAfterMs":1000}`)
	}
	busy(there.task("tools/call", "job", `"name":"job"`))
	busy(there.about("tasks/get", id))
	busy(there.about("tasks/cancel", id))
	assert.Equal(t, here.about("tasks/get", id).Status, "working") // it runs here
	here.release <- struct{}{}
	assert.Equal(t, len(there.fixture.begun), 0, "no task began without the store")
	of.Restart()
	var got *taskState
	eventually.True(t, "the outcome", func() bool {
		got = there.about("tasks/get", id)
		// the store was empty a moment ago, so nobody says that there is no such task
		assert.Assert(t, got.failure.Code == -31999 || got.failure.Code == 0, got.raw)
		return got.Status == "completed"
	})
	assert.Equal(t, got.text(), "<done>")
	// Once the server has put back that it runs, its tasks are found again.
	id = here.begin("curious")
	eventually.True(t, "the question", func() bool {
		got = there.about("tasks/get", id)
		assert.Assert(t, got.failure.Code == -31999 || got.failure.Code == 0, got.raw)
		assert.Assert(t, got.Status != "failed", got.raw)
		return got.Status == "input_required"
	})
}

// A store of the application is not one that servers share: sessions have no tasks then.
func TestSharedSessionsWithAnotherTaskStore(t *testing.T) {
	o := server.Options{StateKey: []byte(key)}
	o.Tasks.Store = server.MemoryTasks(10, 1<<20)
	s := startWorld(t, streamable.Options{Store: openStore(t, nil)}, o)
	s.offerJobs(t)
	hello := s.do(t.Context(), "POST", s.url,
		strings.Replace(initialize, "REVISION", "2025-11-25", 1), "").text()
	assert.Assert(t, !strings.Contains(hello, `"tasks"`), hello)
	got := s.connect("2025-11-25", "").taskOf("tasks/list", ``)
	assert.Equal(t, got.failure.Code, -32600, got.raw)
}
