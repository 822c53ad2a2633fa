package client

import (
	"context"
	"encoding/json"
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

// addJob adds a tool that runs as a task if the client supports that. Its result is the text that f
// returns.
func addJob(t *testing.T, s *server.Server, name string, support mcp.TaskSupport,
	f func(ctx context.Context) (string, error)) {
	t.Helper()
	t.Cleanup(func() { assert.NilError(t, s.Close(context.Background())) })
	assert.NilError(t,
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name}, Tasks: support,
			TaskLater: name == "later",
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				text, err := f(ctx)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}},
					IsError: text == "no luck"}, nil
			}}))
}

// takes returns a function that returns text after d, unless the context ends.
func takes(d time.Duration, text string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// askTwo asks two questions at the same time.
func askTwo(ctx context.Context) (string, error) {
	var text [2]string
	var err [2]error
	done := make(chan bool)
	for i, key := range []string{"first", "second"} {
		go func() {
			var r *mcp.ElicitResult
			if r, err[i] = server.Elicit(ctx, key,
				mcp.ElicitParams{Message: key, RequestedSchema: []byte(nameForm)}); err[i] == nil {
				text[i] = string(r.Content)
			}
			done <- true
		}()
	}
	<-done
	<-done
	return text[0] + text[1], errors.Join(err[:]...)
}

func newTaskServer(t *testing.T) *server.Server {
	s := newServer(server.Options{})
	addTool(t, s, "plain", say("at once"))
	addJob(t, s, "slow", mcp.TaskOptional, takes(90*time.Second, "slowly"))
	addJob(t, s, "long", mcp.TaskRequired, takes(90*time.Second, "at length"))
	addJob(t, s, "unlucky", mcp.TaskRequired, say("no luck"))
	addJob(t, s, "broken", mcp.TaskOptional, func(context.Context) (string, error) {
		return "", &rpc.Error{Code: -31000, Message: "it broke", Data: json.RawMessage(`{"why":1}`)}
	})
	addJob(t, s, "asks", mcp.TaskOptional, askTwo)
	addJob(t, s, "later", mcp.TaskOptional, func(ctx context.Context) (string, error) {
		r, err := server.Elicit(ctx, "who",
			mcp.ElicitParams{Message: "first", RequestedSchema: []byte(nameForm)})
		if err == nil {
			err = server.BecomeTask(ctx)
		}
		if err != nil {
			return "", err
		}
		return takes(time.Minute, string(r.Content))(ctx)
	})
	return s
}

// answers adds a callback that answers forms with the message.
func answers(o Options) Options {
	o.OnElicit = func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept,
			Content: fmt.Appendf(nil, `{"name":%q,"size":"S"}`, p.Message)}, nil
	}
	return o
}

func text(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// One server, one client, both eras: the results are the same, whether the caller waits or fetches
// them later.
func TestTasks(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		synctest.Test(t, func(t *testing.T) {
			c := connectTo(t, newTaskServer(t), answers(Options{Era: era}))
			_, err := All(c.Tools(t.Context())) // it lists which tools run as tasks
			assert.NilError(t, err)
			for tool, want := range map[string]string{"plain": "at once", "slow": "slowly",
				"long": "at length", "unlucky": "no luck",
				"asks":  `{"name":"first","size":"S"}{"name":"second","size":"S"}`,
				"later": `{"name":"first","size":"S"}`} {
				if era == mcp.Legacy && tool == "asks" {
					continue // a plain call, with one question after another
				}
				r, err := c.CallTool(t.Context(), tool, nil)
				assert.NilError(t, err, tool)
				assert.Equal(t, text(r), want)
				assert.Equal(t, r.IsError, tool == "unlucky")
			}
			for tool, want := range map[string]string{"plain": "at once", "slow": "slowly",
				"unlucky": "no luck",
				"asks":    `{"name":"first","size":"S"}{"name":"second","size":"S"}`,
				"later":   `{"name":"first","size":"S"}`} {
				task, err := c.StartTool(t.Context(), tool, nil, TaskTTL(time.Hour))
				assert.NilError(t, err, tool)
				assert.Equal(t, task.ID() == "", tool == "plain")
				assert.Equal(t, task.State().Status == mcp.TaskCompleted, tool == "plain")
				r, err := task.Wait(t.Context())
				assert.NilError(t, err, tool)
				assert.Equal(t, text(r), want)
				assert.Assert(t, task.State().Status.Terminal())
				again, err := task.WaitRaw(t.Context())
				assert.NilError(t, err)
				assert.Equal(t, string(again), string(task.State().Result))
				now, err := task.Poll(t.Context())
				assert.NilError(t, err)
				assert.Assert(t, now.Status.Terminal())
				assert.NilError(t, task.Cancel(t.Context()))
				if tool != "plain" {
					other := c.Task(task.ID())
					assert.Equal(t, other.State().Status, mcp.TaskStatus(""))
					r, err = other.Wait(t.Context())
					assert.NilError(t, err)
					assert.Equal(t, text(r), want)
				}
			}
			for _, call := range []func() error{
				func() error { _, err := c.CallTool(t.Context(), "broken", nil); return err },
				func() error {
					task, err := c.StartTool(t.Context(), "broken", nil)
					assert.NilError(t, err)
					_, err = task.Wait(t.Context())
					assert.Equal(t, task.State().Status, mcp.TaskFailed)
					return err
				},
			} {
				err := call()
				assert.Error(t, err, `server "server": tool "broken": it broke (code -31000)`)
				failure, _ := errors.AsType[*rpc.Error](err)
				assert.Equal(t, string(failure.Data), `{"why":1}`)
			}
		})
	})
}

// Giving up a call cancels its task; giving up a wait for a task does not.
func TestTaskGivenUp(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(server.Options{})
			ended := make(chan error, 1)
			addJob(t, s, "long", mcp.TaskRequired, func(ctx context.Context) (string, error) {
				text, err := takes(time.Minute, "at length")(ctx)
				ended <- err
				return text, err
			})
			c := connectTo(t, s, Options{Era: era})
			_, err := All(c.Tools(t.Context()))
			assert.NilError(t, err)
			_, err = c.CallTool(t.Context(), "long", nil, Timeout(10500*time.Millisecond))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			synctest.Wait()
			assert.ErrorContains(t, <-ended, "the client has cancelled the task")

			task, err := c.StartTool(t.Context(), "long", nil)
			assert.NilError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
			defer cancel()
			_, err = task.Wait(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, `server "server": tool "long": no answer to task "`+
				task.ID()+`" (working) after 11s`)
			r, err := task.Wait(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, text(r), "at length")
			assert.NilError(t, <-ended)

			// The task is cancelled while another caller waits for it.
			task, err = c.StartTool(t.Context(), "long", nil)
			assert.NilError(t, err)
			failed := make(chan error)
			go func() {
				_, err := task.Wait(t.Context())
				failed <- err
			}()
			time.Sleep(10500 * time.Millisecond)
			other := c.Task(task.ID())
			assert.NilError(t, other.Cancel(t.Context()))
			// a modern server only acknowledges the request
			assert.Equal(t, other.State().Status,
				map[mcp.Era]mcp.TaskStatus{mcp.Legacy: mcp.TaskCancelled}[era])
			err = <-failed
			assert.ErrorIs(t, err, ErrTaskCancelled)
			assert.Error(t, err, `server "server": tool "long": the task "`+task.ID()+
				`" was cancelled: "The client has cancelled it."`)
			assert.Equal(t, task.State().Status, mcp.TaskCancelled)
			assert.NilError(t, task.Cancel(t.Context()))
			// this Task does not know yet that the task has ended
			assert.NilError(t, c.Task(task.ID()).Cancel(t.Context()))
			assert.ErrorContains(t, <-ended, "the client has cancelled the task")
		})
	})
}

// The time to live of a task has passed, or the task never existed.
func TestTaskUnknown(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(server.Options{Tasks: server.TaskOptions{TTL: time.Minute}})
			addJob(t, s, "quick", mcp.TaskOptional, say("done"))
			c := connectTo(t, s, Options{Era: era})
			task, err := c.StartTool(t.Context(), "quick", nil)
			assert.NilError(t, err)
			time.Sleep(2 * time.Minute)
			for _, gone := range []*Task{task, c.Task("x"), c.Task(task.ID())} {
				_, err = gone.Wait(t.Context())
				assert.ErrorContains(t, err,
					fmt.Sprintf(`the server does not know the task %q, or not any more: Unknown task: `,
						gone.ID()))
				assert.ErrorIs(t, err, rpc.ErrInvalidParams)
				_, err = gone.Poll(t.Context())
				assert.ErrorContains(t, err, `server "server": tasks/get "`+gone.ID()+
					`": Unknown task: `)
				assert.ErrorContains(t, gone.Cancel(t.Context()), `server "server": tasks/cancel "`+
					gone.ID()+`": Unknown task: `)
			}
			_, err = c.Task("").Wait(t.Context())
			assert.Error(t, err, `server "server": tasks/get: a task's id must not be empty`)
		})
	})
}

// A server that does not declare tasks gets no requests about them, unless it has created a task
// nevertheless.
func TestTasksUndeclared(t *testing.T) {
	for era, test := range map[mcp.Era]struct {
		script func(*scripted)
		want   map[string]string
	}{
		mcp.Modern: {(*scripted).modern,
			map[string]string{"poll": "extensions.io.modelcontextprotocol/tasks",
				"wait":   "extensions.io.modelcontextprotocol/tasks",
				"cancel": "extensions.io.modelcontextprotocol/tasks",
				"update": "extensions.io.modelcontextprotocol/tasks", "list": "tasks.list"}},
		mcp.Legacy: {(*scripted).legacy,
			map[string]string{"poll": "tasks", "wait": "tasks", "cancel": "tasks.cancel",
				"update": "extensions.io.modelcontextprotocol/tasks", "list": "tasks.list"}},
	} {
		t.Run(era.String(), func(t *testing.T) {
			c := connect(t, Options{}, func(s *scripted) {
				test.script(s)
				for m := s.read(); m.line != ""; m = s.read() {
					switch {
					case m.Method != "tools/call":
						t.Error("asked for", m.line)
					case strings.Contains(m.line, `"task":`):
						t.Error("wished for a task")
					default:
						s.reply(m, plain)
					}
				}
			})
			for name, call := range map[string]func() error{
				"poll":   func() error { _, err := c.Task("T").Poll(t.Context()); return err },
				"wait":   func() error { _, err := c.Task("T").Wait(t.Context()); return err },
				"cancel": func() error { return c.Task("T").Cancel(t.Context()) },
				"update": func() error { return c.Task("T").Update(t.Context(), nil) },
				"list":   func() error { _, err := All(c.Tasks(t.Context())); return err },
			} {
				undeclared := call()
				assert.ErrorIs(t, undeclared, ErrUndeclared, name)
				assert.ErrorContains(t, undeclared, "the capability "+test.want[name]+", and")
			}
			task, err := c.StartTool(t.Context(), "t", nil)
			assert.NilError(t, err)
			assert.Equal(t, task.State().Status, mcp.TaskCompleted)
			_, err = task.Wait(t.Context())
			assert.NilError(t, err)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Options{}, func(s *scripted) {
			s.modern()
			s.serve(map[string]string{"tools/call": taskCreated,
				"tasks/get": taskState("completed", `,"result":`+plain), "tasks/update": fine})
		})
		task, err := c.StartTool(t.Context(), "t", nil)
		assert.NilError(t, err)
		assert.NilError(t, task.Update(t.Context(), mcp.InputResponses{}))
		_, err = task.Wait(t.Context())
		assert.NilError(t, err)
	})
}

// A state that arrives late does not replace the final one.
func TestTaskStaysEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late message
		var server *scripted
		w := &worker{}
		w.meet = func(s *scripted, m message) bool {
			server = s
			switch {
			case m.Method != "tasks/get":
				return false
			case late.ID == nil:
				late = m
			default:
				s.reply(m, taskState("completed", `,"result":`+plain))
			}
			return true
		}
		c := w.connect(t, Options{})
		task, err := c.StartTool(t.Context(), "t", nil)
		assert.NilError(t, err)
		polled := make(chan mcp.TaskStatus)
		go func() {
			now, _ := task.Poll(t.Context())
			polled <- now.Status
		}()
		synctest.Wait()
		_, err = task.Poll(t.Context())
		assert.NilError(t, err)
		server.reply(late, taskState("working", ""))
		assert.Equal(t, <-polled, mcp.TaskCompleted)
		assert.Equal(t, task.State().Status, mcp.TaskCompleted)
	})
}
