package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Task is a call that the server continues in the background: of the extension
// io.modelcontextprotocol/tasks, or an experimental task of 2025-11-25. [Client.StartTool],
// [Client.Task] and [Client.Tasks] create it. It is safe for concurrent use.
//
// Poll, Update, Cancel and Wait send requests, block as [Client.Call] does, and return a
// [*CallError]. They send nothing for a task that is known to have ended.
type Task struct {
	c    *Client
	id   string
	tool string // "" if unknown
	// the server has sent the task on this connection, so it supports tasks whatever it declares
	confirmed bool

	mu    sync.Mutex
	state mcp.Task
	seen  time.Time // when state was received; zero for never
	gone  bool      // the server does not know the task
	// hashed keys of input requests that were or are being answered
	asked map[[sha256.Size]byte]bool
	count int // of input requests so far
}

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

// State returns the last known state. The caller must not modify it.
func (t *Task) State() mcp.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

func (t *Task) experimental() bool { return t.c.session.Load().features.ExperimentalTasks }

var (
	// in legacy revisions tasks are no extension
	tasksExtension = capability{"extensions." + mcp.ExtensionTasks, func(s *session) bool {
		return s.features.Extensions && extensionCapability(mcp.ExtensionTasks).in(s)
	}}
	tasksCapability = capability{"tasks", func(s *session) bool {
		return s.features.ExperimentalTasks && s.capabilities.Tasks != nil
	}}
	taskListCapability = capability{"tasks.list", func(s *session) bool {
		return tasksCapability.in(s) && s.capabilities.Tasks.List != nil
	}}
	taskCancelCapability = capability{"tasks.cancel", func(s *session) bool {
		return tasksCapability.in(s) && s.capabilities.Tasks.Cancel != nil
	}}
)

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

func (t *Task) ended() bool {
	now := t.State()
	_, _, ended := outcome(&now)
	return ended
}

// lastState returns the last known state, and when to poll next.
func (t *Task) lastState() (latest mcp.Task, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	latest = t.state
	latest.InputRequests = nil // they may have been answered
	if !t.seen.IsZero() {
		next = t.seen.Add(interval(&latest))
	}
	return latest, next
}

func (t *Task) markGone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
}

func (t *Task) isGone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
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

func ignore([]byte) error { return nil }

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

// followTask handles a call that became a task or was rejected because of tasks. If the call fails,
// it cancels a task that the caller does not know.
func (c *Client) followTask(ctx context.Context, r *call, err error) error {
	switch e := err.(type) {
	case *rpc.Error:
		return c.taskRefusalError(r, e)
	case *createdTaskError:
		if r.method != mcp.MethodCallTool {
			return errtext.Protocol("a task, although %s cannot become one", r.method)
		}
		t := &Task{c: c, id: e.task.TaskID, tool: r.tool, confirmed: true, state: e.task,
			seen: time.Now()}
		if r.started != nil {
			*r.started = t
			return nil
		}
		isKnown := false // to the caller
		defer func() {
			if !isKnown && !t.ended() && !t.isGone() {
				c.cancelAbandonedTask(t)
			}
		}()
		err = c.waitTask(ctx, r, t)
		_, isKnown = err.(*InputRequiredError)
	}
	return err
}

const (
	maxAbandoned   = 16 // tasks that are being cancelled
	abandonTimeout = 10 * time.Second
)

// cancelAbandonedTask cancels a task that nobody waits for, in the background. Beyond maxAbandoned,
// or after the end of the connection, the task is left to its time to live.
func (c *Client) cancelAbandonedTask(t *Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || c.abandoned == maxAbandoned {
		return
	}
	c.abandoned++
	c.wg.Go(func() {
		r := &call{method: mcp.MethodCancelTask, params: mcp.TaskParams{TaskID: t.id},
			decode: ignore}
		_ = t.do(c.ctx, r, []CallOption{Timeout(abandonTimeout)})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.abandoned--
	})
}

// TaskTTL asks a server of 2025-11-25 to keep the task of a call for this time from its creation.
// The server decides; [Task.State] has the actual time. It has no effect on other servers.
func TaskTTL(d time.Duration) CallOption { return func(c *call) { c.ttl = d } }

// toolTasks reports whether the server runs tools as tasks on request (2025-11-25).
func (s *session) toolTasks() bool {
	t := s.capabilities.Tasks
	return s.features.ExperimentalTasks && t != nil && jsonscan.Member(t.Requests["tools"], "call") != nil
}

// shouldRequestTask reports whether to request a task for a tool: the caller wants one, or the tool
// requires it.
func (c *Client) shouldRequestTask(r *call) bool {
	if !c.session.Load().toolTasks() {
		return false
	}
	switch c.taskSupports.Of(r.tool) {
	case mcp.TaskForbidden:
		return false
	case mcp.TaskRequired:
		return true
	}
	return r.started != nil
}

// taskRefusalError explains a method-not-found error of a tool call.
func (c *Client) taskRefusalError(r *call, refusal *rpc.Error) error {
	switch {
	case refusal.Code != rpc.CodeMethodNotFound || r.method != mcp.MethodCallTool:
	case r.requestTask:
		return errtext.Wrap("the server does not run it as a task: "+refusal.Error(), refusal)
	case c.session.Load().toolTasks():
		return errtext.Wrap(
			"the server does not run it, or only as a task, for which see StartTool: "+
				refusal.Error(), refusal)
	}
	return refusal
}
