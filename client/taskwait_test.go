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
)

// A call that becomes a task returns like any other call. The exact requests, their times, and
// every byte of the result.
func TestTaskOfCall(t *testing.T) {
	const raw = `{ "content":[{"type":"text","text":"mild"},{"type":"later","x":1}],"structuredContent":{"t":9007199254740993}, "new":[1.50] }`
	synctest.Test(t, func(t *testing.T) {
		w := &worker{answers: map[string][]string{
			"tasks/get": {taskState("working", ""), taskState("completed", `, "result" : `+raw)}}}
		c := w.connect(t, Options{Info: mcp.Implementation{Name: "me", Version: "2"}})
		result, err := c.CallToolRaw(t.Context(), "slow", nil,
			Meta(mcp.Meta{"traceparent": []byte(`"00-ab"`)}))
		assert.NilError(t, err)
		assert.Equal(t, string(result), raw)
		assert.Equal(t, w.said(), "tools/call@0s tasks/get@1s tasks/get@2s")
		for _, params := range w.params("tasks/get") {
			assert.Equal(t, params,
				`{"taskId":"T","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"},`+
					`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"traceparent":"00-ab"}}`)
		}
		typed, err := c.CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		assert.Equal(t, typed.Content[0].(*mcp.TextContent).Text, "mild")
		// Also with the method tools/call.
		result, err = c.Call(t.Context(), mcp.MethodCallTool, mcp.CallToolParams{Name: "slow"})
		assert.NilError(t, err)
		assert.Equal(t, string(result), raw)
	})
}

// OnTask gets each state that differs from the last, including the final one. A panic reaches the
// caller, and the task is cancelled.
func TestOnTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		message := func(status, text, more string) string {
			return taskState(status, `,"statusMessage":"`+text+`"`+more)
		}
		w := &worker{answers: map[string][]string{
			"tasks/get": {taskState("working", ""), message("working", "half", ""),
				message("working", "half", ""),
				message("completed", "half", `,"result":`+plain)}}}
		c := w.connect(t, Options{})
		var heard []string
		_, err := c.CallTool(t.Context(), "slow", nil, OnTask(func(now mcp.Task) {
			heard = append(heard, string(now.Status)+" "+now.StatusMessage)
		}))
		assert.NilError(t, err)
		assert.DeepEqual(t, heard, []string{"working ", "working half", "completed half"})
		func() {
			defer func() { assert.Equal(t, recover(), "boom") }()
			_, _ = c.CallTool(t.Context(), "slow", nil, OnTask(func(mcp.Task) { panic("boom") }))
		}()
		synctest.Wait()
		assert.Equal(t, len(w.params("tasks/cancel")), 1)
		old := &worker{era: mcp.Legacy, answers: map[string][]string{"tasks/result": {plain}}}
		heard = nil
		task, err := old.connect(t, Options{}).StartTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		_, err = task.Wait(t.Context(),
			OnTask(func(now mcp.Task) { heard = append(heard, string(now.Status)) }))
		assert.NilError(t, err)
		assert.DeepEqual(t, heard, []string{"working", "completed"})
	})
}

// In the specification's own examples, the final state of a task has the resultType "task".
func TestTaskStateOfWrongType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{answers: map[string][]string{
			"tasks/get": {strings.Replace(taskState("completed", `,"result":`+plain), "complete",
				"task", 1)}}}
		c := w.connect(t, Options{})
		_, err := c.CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		now, err := c.Task("T").Poll(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, now.Status, mcp.TaskCompleted)
	})
}

func TestTaskIntervals(t *testing.T) {
	at := func(ms string) string { return strings.Replace(taskState("working", ""), `1000`, ms, 1) }
	for name, test := range map[string]struct {
		created, state, want string
	}{
		"none": {strings.Replace(taskCreated, `,"pollIntervalMs":1000`, "", 1),
			strings.Replace(taskState("working", ""), `,"pollIntervalMs":1000`, "", 1), "1s 2s 3s"},
		"changes": {strings.Replace(taskCreated, "1000", "250", 1), at("7000"),
			"250ms 7.25s 14.25s"},
		"zero": {strings.Replace(taskCreated, "1000", "0", 1), at("-5"), "100ms 200ms 300ms"},
		"for ever": {strings.Replace(taskCreated, "1000", "9223372036854775807", 1),
			at("9223372036854775807"), "1m0s 2m0s 3m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{"tools/call": {test.created},
					"tasks/get": {test.state, test.state,
						taskState("completed", `,"result":`+plain)}}}
				c := w.connect(t, Options{})
				_, err := c.CallTool(t.Context(), "slow", nil)
				assert.NilError(t, err)
				want := "tools/call@0s"
				for at := range strings.FieldsSeq(test.want) {
					want += " tasks/get@" + at
				}
				assert.Equal(t, w.said(), want)
			})
		})
	}
}

// Members that do not belong to the status are ignored: a working task has no result.
func TestTaskStateOfTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = `,"result":{"content":[],"x":1},"error":{"code":1,"message":"?"},"inputRequests":{"a":{"method":"elicitation/create"}}`
		w := &worker{answers: map[string][]string{
			"tools/call": {strings.Replace(taskCreated, `}`, all+`}`, 1)},
			"tasks/get": {taskState("working", all),
				taskState("failed", strings.Replace(all, "{}", "7", 1))}}}
		c := w.connect(t, Options{})
		_, err := c.CallTool(t.Context(), "slow", nil)
		assert.Error(t, err, `server "server": tool "slow": ? (code 1)`)
		assert.Equal(t, w.said(), "tools/call@0s tasks/get@1s tasks/get@2s")
	})
}

// The ways in which a task fails. It is cancelled if it may still run and nobody else knows it.
func TestTaskFails(t *testing.T) {
	for name, test := range map[string]struct {
		answers map[string][]string
		want    string
		is      error
		cancels bool
	}{
		"failed": {map[string][]string{
			"tasks/get": {taskState("failed",
				`,"error":{"code":-31000,"message":"boom","data":{"x": 1}}`)}},
			"boom (code -31000)", &rpc.Error{Code: -31000}, false},
		"cancelled": {map[string][]string{
			"tasks/get": {taskState("cancelled", `,"statusMessage":"no\nneed"`)}},
			`the task "T" was cancelled: "no\nneed"`, nil, false},
		"unknown": {map[string][]string{"tasks/get": {failure(-32602, "Task has expired")}},
			`the server does not know the task "T", or not any more: Task has expired (code -32602)`,
			rpc.ErrInvalidParams, false},
		"unknown after a while": {
			map[string][]string{"tasks/get": {taskState("working", ""), failure(-32602, "What?")}},
			`the server does not know the task "T", or not any more: What? (code -32602)`,
			rpc.ErrInvalidParams, false},
		"no such method": {map[string][]string{"tasks/get": {failure(-32601, "What?")}},
			`the task "T" cannot be followed: What? (code -32601)`, rpc.ErrMethodNotFound, true},
		"not declared": {map[string][]string{"tasks/get": {failure(-32021, "Tell")}},
			`the task "T" cannot be followed: Tell (code -32021)`, nil, true},
		"without a result": {map[string][]string{"tasks/get": {taskState("completed", "")}},
			"a completed task without a result", rpc.ErrProtocol, true},
		"without an error": {
			map[string][]string{"tasks/get": {taskState("failed", `,"result":{}`)}},
			"a failed task without an error", rpc.ErrProtocol, true},
		"of another status": {map[string][]string{"tasks/get": {taskState("sleeping", "")}},
			`a task with the unknown status "sleeping"`, rpc.ErrProtocol, true},
		"another task": {
			map[string][]string{
				"tasks/get": {strings.Replace(taskState("completed", `,"result":{}`), `"T"`, `"U"`,
					1)}},
			`the state of another task, "U"`, rpc.ErrProtocol, true},
		"no state": {map[string][]string{"tasks/get": {`7`}},
			"its result is not an object: 7", rpc.ErrProtocol, true},
		"half a state": {map[string][]string{"tasks/get": {`{"taskId":7}`}},
			"an invalid task state: taskId: want a string, not a number (at byte 10)",
			rpc.ErrProtocol, true},
		"a result that is none": {
			map[string][]string{"tasks/get": {taskState("completed", `,"result":7`)}},
			"its result is not an object: 7", rpc.ErrProtocol, false},
		"without an id": {
			map[string][]string{"tools/call": {strings.Replace(taskCreated, `"T"`, `""`, 1)}},
			"a task without an id", rpc.ErrProtocol, false},
		"no task": {map[string][]string{"tools/call": {`{"resultType":"task","taskId":[]}`}},
			"an invalid task: taskId: want a string, not an array (at byte 30)",
			rpc.ErrProtocol, false},
		"begins nowhere": {
			map[string][]string{"tools/call": {`{"resultType":"task","taskId":"T"}`}},
			`a task with the unknown status ""`, rpc.ErrProtocol, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: test.answers}
				c := w.connect(t, Options{})
				_, err := c.CallTool(t.Context(), "slow", nil)
				assert.Error(t, err, `server "server": tool "slow": `+test.want)
				if test.is != nil {
					assert.ErrorIs(t, err, test.is)
				}
				ok := errors.Is(err, ErrTaskCancelled)
				assert.Equal(t, ok, name == "cancelled")
				assert.Assert(t, !ok || strings.HasSuffix(err.Error(),
					`the task "T" was cancelled: "no\nneed"`), err)
				synctest.Wait()
				assert.Equal(t, strings.Contains(w.said(), "tasks/cancel"), test.cancels, w.said())
			})
		})
	}
}

// Only tools become tasks.
func TestTaskOfSomethingElse(t *testing.T) {
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		s.serve(map[string]string{"prompts/get": taskCreated, "tools/list": taskCreated})
	})
	for _, method := range []string{mcp.MethodGetPrompt, mcp.MethodListTools} {
		_, err := c.Call(t.Context(), method, nil)
		assert.Error(t, err, `server "server": `+method+`: a task, although `+method+` cannot become one`)
		assert.ErrorIs(t, err, rpc.ErrProtocol)
	}
}

// A failed poll is repeated with growing delays. Too many failures end the call, and nothing else
// does.
func TestTaskLost(t *testing.T) {
	completed := taskState("completed", `,"result":`+plain)
	for name, test := range map[string]struct {
		states     []string
		want, said string
	}{
		"an error once": {[]string{failure(-32603, "Internal error"), completed}, "",
			"tasks/get@1s tasks/get@3s"},
		"errors now and then": {
			[]string{failure(-32603, "a"), failure(-31999, "b"), failure(-32000, "c"),
				taskState("working", ""), failure(-32603, "d"), completed}, "",
			"tasks/get@1s tasks/get@3s tasks/get@7s tasks/get@15s tasks/get@16s tasks/get@18s"},
		"errors only": {[]string{failure(-32603, "Internal error")},
			`the task "T" cannot be followed: Internal error (code -32603)`,
			"tasks/get@1s tasks/get@3s tasks/get@7s tasks/get@15s tasks/cancel@15s"},
		"no answer": {[]string{"", completed}, "", "tasks/get@1s cancelled@31s tasks/get@33s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{"tasks/get": test.states}}
				_, err := w.connect(t, Options{}).CallTool(t.Context(), "slow", nil)
				if test.want == "" {
					assert.NilError(t, err)
				} else {
					assert.Error(t, err, `server "server": tool "slow": `+test.want)
				}
				synctest.Wait()
				assert.Equal(t, w.said(), "tools/call@0s "+test.said)
			})
		})
	}
}

// A task that runs forever: changes extend the call, up to a limit. Then the task is cancelled, and
// the call does not wait for that.
func TestTaskTimeout(t *testing.T) {
	var busy []string
	for i := range 500 {
		busy = append(busy, taskState("working", fmt.Sprintf(`,"statusMessage":"step %d"`, i)))
	}
	for name, test := range map[string]struct {
		o      Options
		call   []CallOption
		states []string
		want   string
		took   time.Duration
	}{
		"nothing changes": {Options{CallTimeout: 10 * time.Second}, nil, busy[:1],
			`no answer to task "T" (working: step 0) after 11s; the server last sent something 0s ago`,
			11 * time.Second},
		"of the call": {Options{}, []CallOption{Timeout(5 * time.Second)}, busy[:3],
			`no answer to task "T" (working: step 2) after 8s; the server last sent something 0s ago`,
			8 * time.Second},
		"but not for ever": {
			Options{MaxCallTime: 19500 * time.Millisecond, CallTimeout: 10 * time.Second}, nil,
			busy,
			`no answer to task "T" (working: step 18) after 20s; the server last sent something 0s ago`,
			19500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{"tasks/get": test.states,
					"tasks/cancel": {""}}}
				c := w.connect(t, test.o)
				began := time.Now()
				_, err := c.CallTool(t.Context(), "slow", nil, test.call...)
				took := time.Since(began)
				timeout, ok := errors.AsType[*TimeoutError](err)
				assert.Assert(t, ok, "%v", err)
				timeout.Silence = 0
				assert.Error(t, err, `server "server": tool "slow": `+test.want)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, took, test.took)
				synctest.Wait()
				assert.Equal(t, len(w.params("tasks/cancel")), 1)
				assert.Assert(t, strings.HasPrefix(w.params("tasks/cancel")[0], `{"taskId":"T",`))
				time.Sleep(abandonTimeout)
				synctest.Wait()
				// the cancellation of tasks/cancel, which has timed out
				assert.Assert(t,
					strings.HasSuffix(w.said(), fmt.Sprint("cancelled@", took+abandonTimeout)),
					w.said())
			})
		})
	}
}

func TestNoTaskTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{answers: map[string][]string{
			"tasks/get": {strings.Replace(taskState("working", ""), "1000", "60000", 1)}}}
		w.meet = func(s *scripted, m message) bool {
			if m.Method == "tasks/get" && w.elapsed() > 100*time.Hour {
				s.reply(m, taskState("completed", `,"result":`+plain))
				return true
			}
			return false
		}
		c := w.connect(t, Options{CallTimeout: -1, MaxCallTime: time.Hour})
		_, err := c.CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
	})
}

// The events that end a call while its task runs, between two polls.
func TestTaskEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end     func(cancel func(), c *Client, s *scripted)
		want    string
		is      error
		cancels bool
	}{
		"ctx": {func(cancel func(), _ *Client, _ *scripted) { cancel() },
			"context canceled after 2.5s", context.Canceled, true},
		"close": {func(_ func(), c *Client, _ *scripted) { _ = c.Close() },
			"the client is closed", rpc.ErrClosed, false},
		"hang up": {func(_ func(), _ *Client, s *scripted) { s.out.Close() },
			"closed the connection", rpc.ErrClosed, false},
	} {
		for when, get := range map[string]string{"between looks": taskState("working", ""),
			"during a look": ""} {
			t.Run(name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var server *scripted
					w := &worker{answers: map[string][]string{
						"tasks/get": {taskState("working", ""), get}}}
					c, err := Connect(t.Context(),
						stream(func(s *scripted) { server = s; w.script(s) }))
					assert.NilError(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(2500*time.Millisecond, func() { test.end(cancel, c, server) })
					began := time.Now()
					_, err = c.CallTool(ctx, "slow", nil)
					assert.Error(t, err, `server "server": tool "slow": `+test.want)
					assert.ErrorIs(t, err, test.is)
					assert.Equal(t, time.Since(began), 2500*time.Millisecond)
					synctest.Wait()
					assert.Equal(t, strings.Contains(w.said(), "tasks/cancel@2.5s"), test.cancels,
						w.said())
					_ = c.Close()
					_ = c.Wait()
				})
			})
		}
	}
}

// However many calls are given up, a limited number of requests cancels their tasks.
func TestManyTasksAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{answers: map[string][]string{"tasks/cancel": {""}}}
		c := w.connect(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		failed := make(chan error)
		for range 100 {
			go func() {
				_, err := c.CallTool(ctx, "slow", nil)
				failed <- err
			}()
		}
		for range 100 {
			assert.ErrorIs(t, <-failed, context.DeadlineExceeded)
		}
		synctest.Wait()
		assert.Equal(t, len(w.params("tasks/cancel")), maxAbandoned)
		time.Sleep(abandonTimeout)
		synctest.Wait()
		_, err := c.CallTool(t.Context(), "slow", nil, Timeout(time.Second))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		assert.Equal(t, len(w.params("tasks/cancel")), maxAbandoned+1)
	})
}
