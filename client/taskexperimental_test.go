package client

import (
	"context"
	"errors"
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

// The exact requests to a server of 2025-11-25, and their times.
func TestExperimentalTask(t *testing.T) {
	const raw = `{ "content":[], "isError":true, "_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T"}} }`
	synctest.Test(t, func(t *testing.T) {
		w := &worker{era: mcp.Legacy}
		w.meet = func(s *scripted, m message) bool {
			if m.Method == "tasks/result" {
				time.Sleep(2500 * time.Millisecond)
				s.reply(m, raw)
			}
			return m.Method == "tasks/result"
		}
		c := w.connect(t, Options{})
		for want, ttl := range map[string][]CallOption{`{}`: nil,
			`{"ttl":60000}`: {TaskTTL(time.Minute)}, `{"ttl":1}`: {TaskTTL(time.Nanosecond)}} {
			synctest.Wait()
			w.reset()
			task, err := c.StartTool(t.Context(), "slow", map[string]int{"n": 1}, ttl...)
			assert.NilError(t, err)
			assert.DeepEqual(t, w.params("tools/call"),
				[]string{`{"name":"slow","arguments":{"n":1},"task":` + want + `}`})
			now := task.State()
			assert.Assert(t, task.ID() == "T" && now.Status == mcp.TaskWorking &&
				*now.TTLMs == 60000 && *now.PollIntervalMs == 1000)
			result, err := task.WaitRaw(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, string(result), raw)
			// the status of the revision for a failed tool
			assert.Equal(t, task.State().Status, mcp.TaskFailed)
			assert.DeepEqual(t, w.params("tasks/result"), []string{`{"taskId":"T"}`})
			synctest.Wait()
		}
	})
}

// While the client waits for the result, it polls the state: a change extends the call.
func TestExperimentalTaskTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{era: mcp.Legacy,
			answers: map[string][]string{
				"tasks/get": {oldState("working", ""), oldState("working", ""),
					oldState("working", `,"statusMessage":"half"`)}}}
		c := w.connect(t, Options{CallTimeout: 5 * time.Second})
		task, err := c.StartTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		_, err = task.Wait(t.Context())
		assert.ErrorContains(t, err,
			`server "server": tool "slow": no answer to task "T" (working: half) after 8s`)
		synctest.Wait()
		said := w.said()
		assert.Assert(t,
			strings.HasPrefix(said, "tools/call@0s tasks/result@0s tasks/get@1s tasks/get@2s"),
			said)
		// the cancellation of tasks/result; the task continues
		assert.Assert(t, strings.HasSuffix(said, "cancelled@8s"), said)
		assert.Equal(t, len(w.params("tasks/cancel")), 0)
	})
}

func TestExperimentalTaskFails(t *testing.T) {
	type answers = map[string][]string
	boom := failure(-31000, "boom")
	for name, test := range map[string]struct {
		answers    answers
		want, said string
		is         error
	}{
		"failed": {answers{"tasks/result": {boom}, "tasks/get": {oldState("failed", "")}},
			"boom (code -31000)", "tasks/result@0s tasks/get@0s", &rpc.Error{Code: -31000}},
		"cancelled": {answers{"tasks/result": {failure(-32602, "No result")},
			"tasks/get": {oldState("cancelled", `,"statusMessage":"enough"`)}},
			`the task "T" was cancelled: "enough"`, "tasks/result@0s tasks/get@0s", nil},
		"cancelled, and no answer": {
			answers{"tasks/get": {oldState("working", ""), oldState("cancelled", "")}},
			`the task "T" was cancelled`,
			"tasks/result@0s tasks/get@1s tasks/get@2s cancelled@2s", nil},
		"busy": {answers{"tasks/result": {failure(-31999, "Busy"), plain}}, "",
			"tasks/result@0s tasks/get@0s tasks/get@1s tasks/result@1s", nil},
		"always busy": {answers{"tasks/result": {failure(-31999, "Busy")}}, "Busy (code -31999)",
			"tasks/result@0s tasks/get@0s tasks/get@1s tasks/result@1s tasks/get@1s tasks/get@2s tasks/result@2s tasks/get@2s tasks/get@3s tasks/result@3s tasks/get@3s",
			nil},
		"unknown": {answers{"tasks/result": {failure(-32602, "Who?")},
			"tasks/get": {failure(-32602, "Who?")}},
			`the server does not know the task "T", or not any more: Who? (code -32602)`,
			"tasks/result@0s tasks/get@0s", rpc.ErrInvalidParams},
		"failed and forgotten": {
			answers{"tasks/result": {boom}, "tasks/get": {failure(-32602, "Who?")}},
			"boom (code -31000)", "tasks/result@0s tasks/get@0s", &rpc.Error{Code: -31000}},
		"forgotten meanwhile": {answers{"tasks/get": {failure(-32602, "Who?")}},
			`the server does not know the task "T", or not any more: Who? (code -32602)`,
			"tasks/result@0s tasks/get@1s cancelled@1s", rpc.ErrInvalidParams},
		"malformed": {answers{"tasks/get": {`{"taskId":"T"}`}},
			`a task with the unknown status ""`, "tasks/result@0s tasks/get@1s cancelled@1s",
			rpc.ErrProtocol},
		"late": {answers{"tasks/get": {oldState("completed", "")}},
			`no answer to task "T" (completed) after 11s`, "", context.DeadlineExceeded},
		"not its state": {
			answers{"tasks/get": {strings.Replace(oldState("completed", ""), `"T"`, `"U"`, 1)}},
			`the state of another task, "U"`, "", rpc.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{era: mcp.Legacy, answers: test.answers}
				task, err := w.connect(t,
					Options{CallTimeout: 10 * time.Second}).StartTool(t.Context(), "slow", nil)
				assert.NilError(t, err)
				_, err = task.Wait(t.Context())
				if test.want == "" {
					assert.NilError(t, err)
				} else {
					assert.ErrorContains(t, err, `server "server": tool "slow": `+test.want)
				}
				if test.is != nil {
					assert.ErrorIs(t, err, test.is)
				}
				ok := errors.Is(err, ErrTaskCancelled)
				assert.Equal(t, ok, strings.HasPrefix(name, "cancelled"))
				synctest.Wait()
				if test.said != "" {
					assert.Equal(t, w.said(), "tools/call@0s "+test.said)
				}
				if name == "failed" { // the state stays the same, without a request
					before := w.said()
					_, err = task.Wait(t.Context())
					assert.ErrorIs(t, err, test.is)
					assert.Equal(t, w.said(), before)
				}
			})
		})
	}
}

// An invalid response to tasks/result ends the wait.
func TestExperimentalTaskMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{era: mcp.Legacy}
		w.meet = func(s *scripted, m message) bool {
			if m.Method == "tasks/result" {
				s.send(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":""}}`+"\n",
					m.ID)
			}
			return m.Method == "tasks/result"
		}
		task, err := w.connect(t, Options{}).StartTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		_, err = task.Wait(t.Context())
		assert.ErrorIs(t, err, rpc.ErrProtocol)
		assert.Equal(t, w.said(), "tools/call@0s tasks/result@0s")
	})
}

// The client obeys the task support in tools/list. Without one, it tries.
func TestTaskSupport(t *testing.T) {
	const tools = `{"tools":[{"name":"forbidden","inputSchema":{}},{"name":"said","inputSchema":{},"execution":{"taskSupport":"forbidden"}},` +
		`{"name":"optional","inputSchema":{},"execution":{"taskSupport":"optional"}},{"name":"required","inputSchema":{},"execution":{"taskSupport":"required"}}]}`
	synctest.Test(t, func(t *testing.T) {
		w := &worker{era: mcp.Legacy,
			answers: map[string][]string{"tools/list": {tools}, "tasks/result": {plain}}}
		w.meet = func(s *scripted, m message) bool {
			if m.Method == "tools/call" && !strings.Contains(m.line, `"task":{}`) {
				s.reply(m, plain)
				return true
			}
			return false
		}
		c := w.connect(t, Options{})
		for _, want := range []string{"start forbidden, start optional, start required, start said",
			"call required, start optional, start required"} {
			var got []string
			for _, way := range []string{"call", "start"} {
				for _, tool := range []string{"forbidden", "optional", "required", "said"} {
					before := len(w.params("tools/call"))
					if way == "call" {
						_, err := c.CallTool(t.Context(), tool, nil)
						assert.NilError(t, err)
					} else {
						_, err := c.StartTool(t.Context(), tool, nil)
						assert.NilError(t, err)
					}
					if strings.Contains(w.params("tools/call")[before], `"task":{}`) {
						got = append(got, way+" "+tool)
					}
				}
			}
			assert.Equal(t, strings.Join(got, ", "), want)
			_, err := All(c.Tools(t.Context()))
			assert.NilError(t, err)
		}
	})
}

// Servers report in only one way that a call should, or should not, have been a task.
func TestTaskRefused(t *testing.T) {
	w := &worker{era: mcp.Legacy,
		answers: map[string][]string{"tools/call": {failure(-32601, "Method not found")},
			"prompts/get": {failure(-32601, "Method not found")}}}
	c := w.connect(t, Options{})
	_, err := c.StartTool(t.Context(), "t", nil)
	assert.Error(t, err,
		`server "server": tool "t": the server does not run it as a task: Method not found (code -32601)`)
	assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
	_, err = c.CallTool(t.Context(), "t", nil)
	assert.Error(t, err,
		`server "server": tool "t": the server does not run it, or only as a task, for which see StartTool: Method not found (code -32601)`)
	assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
	_, err = c.Call(t.Context(), "prompts/get", nil)
	assert.Error(t, err, `server "server": prompts/get: Method not found (code -32601)`)
}

// A server with tasks may respond with the result at once, or with an invalid response.
func TestExperimentalTaskBegins(t *testing.T) {
	for answer, want := range map[string]string{
		plain:                          "",
		`{"content":[],"task":"mine"}`: "",
		`{"task":{}}`:                  "a task without an id",
		`{"task":{"taskId":7}}`:        "an invalid task: task.taskId: want a string, not a number (at byte 18)",
		`{"task":{"taskId":"T"}}`:      `a task with the unknown status ""`,
	} {
		w := &worker{era: mcp.Legacy, answers: map[string][]string{"tools/call": {answer}}}
		task, err := w.connect(t, Options{}).StartTool(t.Context(), "t", nil)
		if want == "" {
			assert.NilError(t, err)
			raw, err := task.WaitRaw(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, string(raw), answer)
		} else {
			assert.Error(t, err, `server "server": tool "t": `+want)
			assert.ErrorIs(t, err, rpc.ErrProtocol)
		}
	}
}

// A server that does not declare cancellation gets no tasks/cancel.
func TestExperimentalTaskWithoutCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Options{}, func(s *scripted) {
			s.refuse(s.read(), -32601, "Method not found")
			s.reply(s.read(), strings.Replace(initializedTasks, `"cancel":{},`, "", 1))
			for m := s.read(); m.line != ""; m = s.read() {
				switch m.Method {
				case "tools/list":
					s.reply(m, `{"tools":[{"name":"t","inputSchema":{},"execution":{"taskSupport":"required"}}]}`)
				case "tools/call":
					s.reply(m, oldCreated)
				case "tasks/get":
					s.reply(m, oldState("working", ""))
				case "tasks/cancel":
					t.Error("asked to cancel")
				}
			}
		})
		_, err := All(c.Tools(t.Context()))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "t", nil, Timeout(5*time.Second))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		undeclared := c.Task("T").Cancel(t.Context())
		assert.ErrorIs(t, undeclared, ErrUndeclared)
		assert.ErrorContains(t, undeclared, "the capability tasks.cancel, and")
		synctest.Wait()
	})
}

// The progress token of a call is valid until its task ends, and progress is delivered until then.
func TestExperimentalTaskProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{era: mcp.Legacy,
			answers: map[string][]string{
				"tools/list": {`{"tools":[{"name":"t","inputSchema":{},"execution":{"taskSupport":"required"}}]}`}}}
		w.meet = func(s *scripted, m message) bool {
			if m.Method != "tasks/result" {
				return false
			}
			go func() {
				for i := range 3 {
					time.Sleep(4500 * time.Millisecond)
					s.notify("notifications/progress",
						fmt.Sprintf(`{"progressToken":1,"progress":%d}`, i))
				}
				time.Sleep(4500 * time.Millisecond)
				s.reply(m, plain)
			}()
			return true
		}
		c := w.connect(t, Options{CallTimeout: 5 * time.Second})
		_, err := All(c.Tools(t.Context()))
		assert.NilError(t, err)
		var heard []float64
		began := time.Now()
		_, err = c.CallTool(t.Context(), "t", nil,
			OnProgress(func(p mcp.ProgressParams) { heard = append(heard, p.Progress) }))
		assert.NilError(t, err)
		assert.DeepEqual(t, heard, []float64{0, 1, 2})
		assert.Equal(t, time.Since(began), 18*time.Second)
	})
}

// A question of a task is a request like others, and the user may take any time.
func TestExperimentalTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(server.Options{})
		addJob(t, s, "asks", mcp.TaskOptional, askTwo)
		c := connectTo(t, s,
			Options{Era: mcp.Legacy,
				OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					var related mcp.TaskParams
					_, err := p.Meta.Get(mcp.MetaRelatedTask, &related)
					assert.Check(t, err == nil && related.TaskID != "")
					time.Sleep(time.Minute)
					return accept(`{"name":"Ada"}`)(ctx, p)
				}})
		task, err := c.StartTool(t.Context(), "asks", nil)
		assert.NilError(t, err)
		time.Sleep(time.Minute)
		now, err := task.Poll(t.Context())
		assert.NilError(t, err)
		// the client was not asked yet: the server asks when the client waits
		assert.Equal(t, now.Status, mcp.TaskInputRequired)
		began := time.Now()
		r, err := task.Wait(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, text(r), `{"name":"Ada","size":"M"}{"name":"Ada","size":"M"}`)
		assert.Equal(t, time.Since(began), time.Minute)
		undeclared := task.Update(t.Context(), mcp.InputResponses{})
		assert.ErrorIs(t, undeclared, ErrUndeclared)
		assert.ErrorContains(t, undeclared,
			"the capability extensions.io.modelcontextprotocol/tasks, and")
	})
}

func TestTaskList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(server.Options{PageSize: 2})
		addJob(t, s, "slow", mcp.TaskOptional, takes(time.Minute, "slowly"))
		c := connectTo(t, s, Options{Era: mcp.Legacy})
		want := map[string]bool{}
		for range 5 {
			task, err := c.StartTool(t.Context(), "slow", nil)
			assert.NilError(t, err)
			want[task.ID()] = true
		}
		tasks, err := All(c.Tasks(t.Context()))
		assert.NilError(t, err)
		for _, task := range tasks {
			assert.Assert(t, want[task.ID()])
			delete(want, task.ID())
			assert.Equal(t, task.State().Status, mcp.TaskWorking)
		}
		assert.Equal(t, len(want), 0)
		r, err := tasks[4].Wait(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, text(r), "slowly")
	})
	c := connect(t, Options{}, func(s *scripted) {
		s.refuse(s.read(), -32601, "Method not found")
		s.reply(s.read(), initializedTasks)
		s.serve(map[string]string{"tasks/list": `{"tasks":[` + oldState("working", "") +
			`],"nextCursor":"again"}`})
	})
	tasks := 0
	for task, err := range c.Tasks(t.Context()) {
		tasks++
		assert.NilError(t, err)
		assert.Equal(t, task.ID(), "T")
	}
	assert.Equal(t, tasks, 1)
}
