package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// asksFor returns the state of a task that requests input.
func asksFor(questions ...string) string {
	return taskState("input_required", `,"inputRequests":{`+strings.Join(questions, ",")+`}`)
}

func question(key, message string) string {
	return strings.Replace(elicitation(key, nameForm), `"?"`, fmt.Sprintf("%q", message), 1)
}

// after answers a question after the delay in its message, and counts how often each was asked.
func after(asked map[string]*atomic.Int32) Options {
	return Options{OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult,
		error) {
		asked[p.Message].Add(1)
		late, err := time.ParseDuration(p.Message)
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(late):
			return accept(`{"name":"Ada"}`)(ctx, p)
		case <-ctx.Done():
			asked["taken back"].Add(1)
			return nil, ctx.Err()
		}
	}}
}

func counters(names ...string) map[string]*atomic.Int32 {
	all := map[string]*atomic.Int32{"taken back": new(atomic.Int32)}
	for _, name := range names {
		all[name] = new(atomic.Int32)
	}
	return all
}

// Each question is asked once, however often it is received, and answered as soon as possible,
// independently of the others. If a question is withdrawn, its callback is cancelled.
func TestTaskQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := counters("100ms", "2.5s", "1h")
		w := &worker{answers: map[string][]string{"tasks/get": {
			asksFor(question("a", "100ms"), question("b", "2.5s"), question("c", "1h")),
			// the answers take time
			asksFor(question("a", "100ms"), question("b", "2.5s"), question("c", "1h")),
			asksFor(question("b", "2.5s"), question("c", "1h")),
			asksFor(question("b", "2.5s")),
			taskState("working", ""),
			taskState("completed", `,"result":`+plain),
		}}}
		o := after(asked)
		answer := o.OnElicit
		var takenBack time.Duration
		o.OnElicit = func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			r, err := answer(ctx, p)
			if err != nil {
				takenBack = w.elapsed()
			}
			return r, err
		}
		_, err := w.connect(t, o).CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		assert.Equal(t, takenBack, 4*time.Second)
		assert.Equal(t, w.said(),
			"tools/call@0s tasks/get@1s tasks/update@1.1s tasks/get@2s tasks/get@3s tasks/update@3.5s tasks/get@4s tasks/get@5s tasks/get@6s")
		for name, n := range asked {
			assert.Equal(t, n.Load(), int32(1), name)
		}
		const want = `{"action":"accept","content":{"name":"Ada","size":"M"}}`
		for i, key := range []string{"a", "b"} {
			params := w.params("tasks/update")[i]
			assert.Assert(t,
				strings.HasPrefix(params, `{"taskId":"T","inputResponses":{"`+key+`":`+want+
					`},"_meta":{`), params)
		}
	})
}

// However many questions there are, a limited number is open at the same time, and all are
// answered.
func TestManyTaskQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open inflight.Count
		questions := make([]string, 100)
		for i := range questions {
			questions[i] = question(fmt.Sprint("q", i), "?")
		}
		w := &worker{}
		answered := 0
		w.meet = func(s *scripted, m message) bool {
			answered += strings.Count(m.line, `"action":"accept"`)
			if m.Method == "tasks/get" && answered < 100 {
				s.reply(m, asksFor(questions...))
			} else if m.Method == "tasks/get" {
				s.reply(m, taskState("completed", `,"result":`+plain))
			}
			return m.Method == "tasks/get"
		}
		c := w.connect(t, Options{
			OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				defer open.Begin()()
				time.Sleep(time.Second)
				return accept(`{"name":"Ada"}`)(ctx, p)
			}})
		_, err := c.CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		assert.Equal(t, answered, 100)
		assert.Equal(t, open.Most(), maxAsking)
	})
}

// If a task asks too many questions, the call fails and the task is cancelled.
func TestEndlessTaskQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{}
		n := 0
		w.meet = func(s *scripted, m message) bool {
			if m.Method == "tasks/get" {
				n++
				s.reply(m, asksFor(question(fmt.Sprint("q", n), "?")))
			}
			return m.Method == "tasks/get"
		}
		_, err := w.connect(t, Options{OnElicit: accept(`{"name":"Ada"}`)}).CallTool(t.Context(),
			"slow", nil)
		rounds, ok := errors.AsType[*roundsError](err)
		assert.Assert(t, ok, "%v", err)
		assert.ErrorIs(t, err, ErrRounds)
		assert.Equal(t, rounds.rounds, maxTaskQuestions)
		assert.Equal(t, len(rounds.last.(*InputRequiredError).Result.InputRequests), 1)
		assert.Error(t, err,
			`server "server": tool "slow": the server has been answered 256 times and still gives no result: the server wants input first (1 requests)`)
		synctest.Wait()
		assert.Equal(t, len(w.params("tasks/update")), maxTaskQuestions)
		assert.Equal(t, len(w.params("tasks/cancel")), 1)
	})
}

// A task with a question without a callback is returned to the caller, and not cancelled.
func TestTaskInputRequired(t *testing.T) {
	for name, test := range map[string]struct {
		options []CallOption
		asks    string
		want    []string
	}{
		"no callback": {nil, asksFor(question("a", "?"), `"b":{"method":"sampling/createMessage"}`),
			[]string{"a", "b"}},
		"by hand": {[]CallOption{ReturnInputRequests()}, asksFor(question("a", "?")), []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{
					"tasks/get": {test.asks, test.asks, test.asks,
						taskState("completed", `,"result":`+plain)}}}
				c := w.connect(t, Options{
					OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
						t.Error("asked")
						return nil, nil
					}})
				_, err := c.CallTool(t.Context(), "slow", nil, test.options...)
				asked, ok := errors.AsType[*InputRequiredError](err)
				assert.Assert(t, ok, "%v", err)
				assert.Equal(t, len(asked.Result.InputRequests), len(test.want))
				assert.Equal(t, string(asked.Raw), test.asks)
				assert.Equal(t, asked.Task.ID(), "T")
				assert.Equal(t, len(asked.Task.State().InputRequests), len(test.want))
				_, err = asked.Task.Wait(t.Context(), test.options...) // the same error
				_, ok = errors.AsType[*InputRequiredError](err)
				assert.Assert(t, ok, "%v", err)
				answers := mcp.InputResponses{}
				for _, key := range test.want {
					answers[key] = []byte(`{"action":"decline"}`)
				}
				assert.NilError(t, asked.Task.Update(t.Context(), answers))
				_, err = asked.Task.Wait(t.Context(), test.options...)
				assert.NilError(t, err)
				synctest.Wait()
				assert.Equal(t, w.said(),
					"tools/call@0s tasks/get@1s tasks/get@2s tasks/update@2s tasks/get@3s tasks/get@4s")
			})
		})
	}
}

// A question that cannot be answered ends the call and the task.
func TestTaskUnanswered(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		callback func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error)
		asks     string
		want     string
		is       error
	}{
		"fails": {func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
			error) {
			return nil, boom
		}, question("a", "?"), "boom", boom},
		"panics": {func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
			error) {
			panic("boom")
		}, question("a", "?"), "", nil},
		"no sense": {accept(`{}`), elicitation("a", "7"), "requestedSchema: ", rpc.ErrProtocol},
		"no answer": {accept(`{}`), question("a", "?"),
			`the result of Options.OnElicit: content: missing required property "name"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{"tasks/get": {asksFor(test.asks)}}}
				_, err := w.connect(t,
					Options{OnElicit: test.callback,
						Logger: slog.New(slog.DiscardHandler)}).CallTool(t.Context(), "slow", nil)
				q, ok := errors.AsType[*QuestionError](err)
				assert.Assert(t, ok, "%v", err)
				assert.Equal(t, q.Key, "a")
				assert.ErrorContains(t, err,
					`server "server": tool "slow": the server's question "a" (elicitation/create) was not answered: `+
						test.want)
				if test.is != nil {
					assert.ErrorIs(t, err, test.is)
				}
				synctest.Wait()
				assert.Equal(t, w.said(), "tools/call@0s tasks/get@1s tasks/cancel@1s")
			})
		})
	}
}

// Answers that do not arrive are sent again. Answers that the server rejects end the call, unless
// the server no longer asks.
func TestTaskUpdateFails(t *testing.T) {
	asks, completed := asksFor(question("a", "?")), taskState("completed", `,"result":`+plain)
	for name, test := range map[string]struct {
		states, updates []string
		want, said      string
	}{
		"once": {[]string{asks, asks, completed},
			[]string{failure(-32603, "Internal error"), fine}, "",
			"tasks/get@1s tasks/update@1s tasks/update@3s tasks/get@3s tasks/get@4s"},
		"no answer": {[]string{asks, asks, completed}, []string{"", fine}, "",
			"tasks/get@1s tasks/update@1s cancelled@31s tasks/update@33s tasks/get@33s tasks/get@34s"},
		"always": {[]string{asks}, []string{failure(-32603, "Internal error")},
			`the task "T" cannot be followed: Internal error (code -32603)`, ""},
		"refused": {[]string{asks}, []string{failure(-32602, "No")},
			"the server rejects the answers: No (code -32602)",
			"tasks/get@1s tasks/update@1s tasks/get@1s tasks/cancel@1s"},
		"too late": {[]string{asks, completed}, []string{failure(-32602, "No")}, "",
			"tasks/get@1s tasks/update@1s tasks/get@1s"},
		"not any more": {[]string{asks, asksFor(question("b", "?")), completed},
			[]string{failure(-32602, "No"), fine}, "",
			"tasks/get@1s tasks/update@1s tasks/get@1s tasks/update@1s tasks/get@2s"},
		"unknown": {[]string{asks, failure(-32602, "Who?")}, []string{failure(-32602, "No")},
			`the server does not know the task "T", or not any more: Who? (code -32602)`, ""},
		"not supported": {[]string{asks}, []string{failure(-32601, "What?")},
			`the task "T" cannot be followed: What? (code -32601)`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{answers: map[string][]string{"tasks/get": test.states,
					"tasks/update": test.updates}}
				_, err := w.connect(t,
					Options{OnElicit: accept(`{"name":"Ada"}`)}).CallTool(t.Context(), "slow", nil)
				if test.want == "" {
					assert.NilError(t, err)
				} else {
					assert.Error(t, err, `server "server": tool "slow": `+test.want)
				}
				synctest.Wait()
				if test.said != "" {
					assert.Equal(t, w.said(), "tools/call@0s "+test.said)
				}
				assert.Assert(t, len(w.params("tasks/update")) < 6)
			})
		})
	}
}

// Answers that become available after a failed update wait for the next attempt. An answer that
// cannot be sent ends the call.
func TestTaskUpdateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := asksFor(question("a", "100ms"), question("b", "500ms"))
		w := &worker{answers: map[string][]string{
			"tasks/get":    {asks, taskState("completed", `,"result":`+plain)},
			"tasks/update": {failure(-32603, "?"), fine}}}
		_, err := w.connect(t, after(counters("100ms", "500ms"))).CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		assert.Equal(t, w.said(),
			"tools/call@0s tasks/get@1s tasks/update@1.1s tasks/update@3.1s tasks/get@3.1s")
		assert.Equal(t, strings.Count(w.params("tasks/update")[1], `"accept"`), 2)
	})
	synctest.Test(t, func(t *testing.T) {
		w := &worker{answers: map[string][]string{"tasks/get": {asksFor(question("a", "?"))}}}
		_, err := w.connect(t,
			Options{MaxSend: 10_000, OnElicit: accept(`{"name":"` + pad(10_000) + `"}`)}).CallTool(
			t.Context(), "slow", nil)
		assert.ErrorIs(t, err, framing.ErrTooLarge)
		synctest.Wait()
		assert.Equal(t, w.said(), "tools/call@0s tasks/get@1s tasks/cancel@1s")
	})
}

// An answer extends the call before the state shows it.
func TestTaskAnswerIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowly := func(s string) string { return strings.Replace(s, ":1000", ":10000", 1) }
		asks := slowly(asksFor(question("a", "11s")))
		w := &worker{answers: map[string][]string{"tools/call": {slowly(taskCreated)},
			"tasks/get": {asks, asks, slowly(taskState("completed", `,"result":`+plain))}}}
		o := after(counters("11s"))
		o.CallTimeout = 12 * time.Second
		_, err := w.connect(t, o).CallTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		assert.Equal(t, w.said(),
			"tools/call@0s tasks/get@10s tasks/get@20s tasks/update@21s tasks/get@30s")
	})
}

// A question whose answer has not reached the server when the wait ends is asked again by the next
// wait.
func TestTaskAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := counters("100ms")
		asks := asksFor(question("a", "100ms"))
		w := &worker{answers: map[string][]string{
			"tasks/get":    {asks, asks, asks, asks, taskState("completed", `,"result":`+plain)},
			"tasks/update": {failure(-32603, "?"), failure(-32603, "?"), fine}}}
		task, err := w.connect(t, after(asked)).StartTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		_, err = task.Wait(t.Context(), Timeout(time.Second+200*time.Millisecond))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = task.Wait(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, asked["100ms"].Load(), int32(2))
	})
}

// The context of a running callback ends when the call ends, and the call waits for the callback.
// Its timeout continues.
func TestTaskEndsWhileAsking(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(cancel func(), c *Client, s *scripted)
		want string
		is   error
	}{
		"ctx": {func(cancel func(), _ *Client, _ *scripted) { cancel() },
			"context canceled after 5.5s", context.Canceled},
		"close": {func(_ func(), c *Client, _ *scripted) { _ = c.Close() },
			"the client is closed", rpc.ErrClosed},
		"hang up": {func(_ func(), _ *Client, s *scripted) { s.out.Close() },
			"closed the connection", rpc.ErrClosed},
		"timeout": {func(func(), *Client, *scripted) {},
			`no answer to task "T" (input_required) after 8s`, context.DeadlineExceeded},
		"ended": {nil, `the task "T" was cancelled`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := counters("1h")
				asks := asksFor(question("a", "1h"))
				w := &worker{answers: map[string][]string{"tasks/get": {asks}}}
				if test.end == nil {
					w.answers["tasks/get"] = []string{asks, asks, asks, taskState("cancelled", "")}
				}
				var server *scripted
				o := after(asked)
				o.CallTimeout = 7 * time.Second
				c, err := o.Connect(t.Context(),
					stream(func(s *scripted) { server = s; w.script(s) }))
				assert.NilError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.end != nil {
					time.AfterFunc(5500*time.Millisecond, func() { test.end(cancel, c, server) })
				}
				_, err = c.CallTool(ctx, "slow", nil)
				assert.ErrorContains(t, err, `server "server": tool "slow": `+test.want)
				if test.is != nil {
					assert.ErrorIs(t, err, test.is)
				}
				assert.Equal(t, asked["1h"].Load(), int32(1))
				assert.Equal(t, asked["taken back"].Load(), int32(1))
				_ = c.Close()
				_ = c.Wait()
			})
		})
	}
}

// Two concurrent waits for one Task ask each question once. If the wait that asks ends, the other
// asks, and so does a later one.
func TestTaskQuestionsOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := counters("10s")
		w := &worker{}
		answered := false
		w.meet = func(s *scripted, m message) bool {
			switch {
			case m.Method == "tasks/update":
				answered = true
			case m.Method == "tasks/get" && answered:
				s.reply(m, taskState("completed", `,"result":`+plain))
				return true
			}
			return false
		}
		w.answers = map[string][]string{"tasks/get": {asksFor(question("a", "10s"))}}
		task, err := w.connect(t, after(asked)).StartTool(t.Context(), "slow", nil)
		assert.NilError(t, err)
		failed := make(chan error)
		for range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
				defer cancel()
				_, err := task.Wait(ctx)
				failed <- err
			}()
		}
		assert.ErrorIs(t, <-failed, context.DeadlineExceeded)
		assert.ErrorIs(t, <-failed, context.DeadlineExceeded)
		assert.Equal(t, asked["10s"].Load(), int32(1))
		for range 2 {
			go func() {
				_, err := task.Wait(t.Context())
				failed <- err
			}()
		}
		assert.NilError(t, <-failed)
		assert.NilError(t, <-failed)
		assert.Equal(t, asked["10s"].Load(), int32(2))
		assert.Equal(t, len(w.params("tasks/update")), 1)
		assert.Equal(t, len(w.params("tasks/cancel")), 0)
	})
}
