package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// StartTool calls a tool and returns when the server has responded, with a task or with the result.
// A Task made from a result has ended and has no id. Input requests before that are answered as by
// [Client.CallTool].
//
// In the modern era the server decides. A server of 2025-11-25 is asked for a task if it declares
// tasks.requests.tools.call, unless [Client.Tools] has listed the tool as one that does not support
// tasks. If the server then responds with -32601, that is the error.
func (c *Client) StartTool(ctx context.Context, name string, args any, opts ...CallOption) (*Task,
	error) {
	var t *Task
	r := &call{method: mcp.MethodCallTool, tool: name, params: args, started: &t,
		decode: func(result []byte) error {
			t = &Task{c: c, tool: name, confirmed: true,
				state: mcp.Task{Status: mcp.TaskCompleted, Result: bytes.Clone(result)},
				seen:  time.Now()}
			return nil
		}}
	if err := c.callTool(ctx, r, opts); err != nil {
		return nil, err
	}
	return t, nil
}

// Task returns the task with a known id, for example from an earlier run of the program. It sends
// nothing, and State is empty until the first poll. Tasks of 2025-11-25 may end with their
// connection.
func (c *Client) Task(id string) *Task { return &Task{c: c, id: id, state: mcp.Task{TaskID: id}} }

// Tasks yields the tasks of this client on a server of 2025-11-25 (2025-11-25, Tasks, "Listing
// Tasks"). Errors and limits are those of [Client.Tools]; if the server has no such list, as in the
// modern era, the error is [ErrUndeclared].
func (c *Client) Tasks(ctx context.Context, opts ...CallOption) iter.Seq2[*Task, error] {
	pages := c.pagesOf(ctx, taskListCapability, mcp.MethodListTasks, opts)
	return items(c, listMethod{mcp.MethodListTasks, "tasks", "tasks"}, pages,
		func(r *mcp.ListExperimentalTasksResult) []*Task {
			tasks := make([]*Task, len(r.Tasks))
			for i, e := range r.Tasks {
				tasks[i] = &Task{c: c, id: e.TaskID, confirmed: true, state: fromExperimental(e),
					seen: time.Now()}
			}
			return tasks
		})
}

// ID returns the id for [Client.Task]; "" if the server returned the result at once. Keep it
// secret: it may give access to the task.
func (t *Task) ID() string { return t.id }

// do makes a request about the task.
func (t *Task) do(ctx context.Context, r *call, opts []CallOption) error {
	needed := tasksExtension
	switch experimental := t.experimental(); {
	case experimental && r.method == mcp.MethodUpdateTask: // only the extension has it
	case experimental && r.method == mcp.MethodCancelTask:
		needed = taskCancelCapability
	case t.confirmed:
		needed.in = func(*session) bool { return true }
	case experimental:
		needed = tasksCapability
	}
	r.name = t.id
	if t.id == "" {
		return &CallError{Server: t.c.o.Name, Method: r.method,
			Err: errors.New("a task's id must not be empty")}
	}
	return t.c.request(ctx, needed, r, opts)
}

// Poll gets the state of the task once (tasks extension, "Task Polling").
func (t *Task) Poll(ctx context.Context, opts ...CallOption) (mcp.Task, error) {
	if t.ended() {
		return t.State(), nil
	}
	var now mcp.Task
	err := t.do(ctx,
		&call{method: mcp.MethodGetTask, params: mcp.TaskParams{TaskID: t.id},
			decode: func(raw []byte) (err error) {
				now, err = t.decodeState(raw)
				return err
			}}, opts)
	if err != nil {
		return mcp.Task{}, err
	}
	t.setState(now)
	return t.State(), nil
}

// Update answers some or all of the InputRequests in the task's State (tasks extension, "Task
// Update Requests"). [Task.Wait] does this with the callbacks in [Options], and skips those
// answered here. Tasks of 2025-11-25 have no such request: there the server sends requests.
func (t *Task) Update(ctx context.Context, answers mcp.InputResponses, opts ...CallOption) error {
	params := mcp.UpdateTaskParams{TaskID: t.id, InputResponses: answers}
	if err := t.do(ctx, &call{method: mcp.MethodUpdateTask, params: params, decode: ignore},
		opts); err != nil {
		return err
	}
	for key := range answers {
		t.markAsked(key)
	}
	return nil
}

// Cancel asks the server to cancel the task (tasks extension, "Task Cancellation"). A nil error
// means that the server accepted the request or the task had ended. [Task.Poll] and [Task.Wait]
// tell whether it was cancelled.
func (t *Task) Cancel(ctx context.Context, opts ...CallOption) error {
	if t.ended() {
		return nil
	}
	err := t.do(ctx,
		&call{method: mcp.MethodCancelTask, params: mcp.TaskParams{TaskID: t.id},
			decode: func(raw []byte) error {
				if now, err := t.decodeState(raw); err == nil && t.experimental() {
					// in the extension the result has no state
					t.setState(now)
				}
				return nil
			}}, opts)
	if t.experimental() && errors.Is(err, rpc.ErrInvalidParams) {
		// the task is unknown or has ended
		if now, bad := t.Poll(ctx, opts...); bad == nil && now.Status.Terminal() {
			return nil
		}
	}
	return err
}

// Wait waits for the end of the task and returns the result of its tool. It polls as often as the
// server suggests, but at least once a minute, and answers input requests as [Client.CallTool]
// does. If it times out (see [Options]; a change of the state extends the time) or ctx ends, the
// task continues, and Wait may be called again.
//
// The error wraps an [*rpc.Error] with the code of the failed call, or is [ErrTaskCancelled] or an
// error of [Client.Call]. It matches [rpc.ErrInvalidParams] if the server does not know the task,
// because its time to live has passed, for example. It is an [*InputRequiredError] if an input
// request has no callback. Concurrent calls of Wait on one Task answer each input request once; two
// Tasks with the same id answer it twice. Of the options, [Timeout], [Meta], [OnTask] and
// [ReturnInputRequests] have an effect.
func (t *Task) Wait(ctx context.Context, opts ...CallOption) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	if err := t.wait(ctx, opts, decodeInto(result)); err != nil {
		return nil, err
	}
	return result, nil
}

// WaitRaw is [Task.Wait] with the result as the server wrote it.
func (t *Task) WaitRaw(ctx context.Context, opts ...CallOption) (json.RawMessage, error) {
	var raw json.RawMessage
	err := t.wait(ctx, opts, raw.UnmarshalJSON)
	return raw, err
}

func (t *Task) wait(ctx context.Context, opts []CallOption, decode func([]byte) error) error {
	r := &call{method: mcp.MethodGetTask, tool: t.tool, waitedTask: t, decode: decode}
	if t.ended() {
		return t.c.do(ctx, r, opts)
	}
	return t.do(ctx, r, opts)
}
