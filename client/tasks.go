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

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Task is a call that the server goes on with by itself, of either kind: of the extension io.modelcontextprotocol/tasks, or of 2025-11-25 (Tasks, which are
// experimental there). [Client.StartTool] makes one, [Client.Task] and [Client.Tasks] find it again. All methods may be called from anywhere at any time.
//
// Poll, Update, Cancel and Wait ask the server, block as [Client.Call] does, and return a [*CallError]. What is known to have ended is not asked for again.
type Task struct {
	c    *Client
	id   string
	tool string // which was called; "" if that is not known
	confirmed bool   // by the server, on this connection: it has tasks, whatever it declares

	mu    sync.Mutex
	state mcp.Task
	seen  time.Time                  // when that was; zero for never
	gone  bool                       // the server does not know it any more
	asked map[[sha256.Size]byte]bool // its questions that are answered or being answered, by key, which may be long
	count int                        // of questions, ever
}

// StartTool calls a tool and returns as soon as the server has answered: with a task, if it can run the tool as one, else with the result. Then the Task has
// ended already, and has no id. Questions that come before that are answered as those of [Client.CallTool].
//
// In the modern era the server decides. One of 2025-11-25 is asked for a task if it declares tasks.requests.tools.call, unless [Client.Tools] has listed the tool
// as one that does not run as a task. If the server says the same, with -32601, that is the error.
func (c *Client) StartTool(ctx context.Context, name string, args any, opts ...CallOption) (*Task, error) {
	var t *Task
	r := &call{method: mcp.MethodCallTool, tool: name, params: args, started: &t, decode: func(result []byte) error {
		t = &Task{c: c, tool: name, confirmed: true, state: mcp.Task{Status: mcp.TaskCompleted, Result: bytes.Clone(result)}, seen: time.Now()}
		return nil
	}}
	if err := c.doTool(ctx, r, opts); err != nil {
		return nil, err
	}
	return t, nil
}

// Task returns the task with an id that is known from before, such as from an earlier run of the program. Nothing is sent, and State says nothing until it was
// asked for. Tasks of 2025-11-25 may end with their connection.
func (c *Client) Task(id string) *Task { return &Task{c: c, id: id, state: mcp.Task{TaskID: id}} }

// Tasks yields the tasks that a server of 2025-11-25 has of this client, page after page as they are wanted (2025-11-25, Tasks, "Listing Tasks"). Errors and
// limits are as with [Client.Tools]; where there is no such list, as in the modern era, the error is an [*UndeclaredError].
func (c *Client) Tasks(ctx context.Context, opts ...CallOption) iter.Seq2[*Task, error] {
	pages := c.pagesOf(ctx, taskListCapability, mcp.MethodListTasks, opts)
	return items(c, "tasks", pages, mcp.MethodListTasks, func(r *mcp.ListExperimentalTasksResult) []*Task {
		tasks := make([]*Task, len(r.Tasks))
		for i, e := range r.Tasks {
			tasks[i] = &Task{c: c, id: e.TaskID, confirmed: true, state: fromExperimental(e), seen: time.Now()}
		}
		return tasks
	})
}

// ID returns the id by which [Client.Task] finds the task again; "" if the server gave the result at once. It is for nobody else: who knows it may have the
// task.
func (t *Task) ID() string { return t.id }

// State returns how the task was when the server last told. It must not be changed.
func (t *Task) State() mcp.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

func (t *Task) experimental() bool { return t.c.session.Load().features.ExperimentalTasks }

var (
	tasksExtension = capability{"extensions." + mcp.ExtensionTasks, func(s *session) bool {
		_, ok := s.capabilities.Extensions[mcp.ExtensionTasks]
		return ok && s.features.Extensions
	}}
	tasksCapability      = capability{"tasks", func(s *session) bool { return s.features.ExperimentalTasks && s.capabilities.Tasks != nil }}
	taskListCapability   = capability{"tasks.list", func(s *session) bool { return tasksCapability.in(s) && s.capabilities.Tasks.List != nil }}
	taskCancelCapability = capability{"tasks.cancel", func(s *session) bool { return tasksCapability.in(s) && s.capabilities.Tasks.Cancel != nil }}
)

// do makes a request about the task.
func (t *Task) do(ctx context.Context, r *call, opts []CallOption) error {
	needed := tasksExtension
	switch experimental := t.experimental(); {
	case experimental && r.method == mcp.MethodCancelTask:
		needed = taskCancelCapability
	case t.confirmed && (!experimental || r.method != mcp.MethodUpdateTask):
		needed.in = func(*session) bool { return true }
	case experimental && r.method != mcp.MethodUpdateTask:
		needed = tasksCapability
	}
	r.name = t.id
	if t.id == "" {
		return &CallError{Server: t.c.o.Name, Method: r.method, Err: errors.New("a task's id must not be empty")}
	}
	return t.c.request(ctx, needed, r, opts)
}

func (t *Task) ended() bool {
	now := t.State()
	_, _, ended := outcome(&now)
	return ended
}

// begin returns how the task was, and when to look at it next.
func (t *Task) lastState() (latest mcp.Task, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	latest = t.state
	latest.InputRequests = nil // it may have been answered
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

// Poll asks the server how the task is, once (tasks extension, "Task Polling").
func (t *Task) Poll(ctx context.Context, opts ...CallOption) (mcp.Task, error) {
	if t.ended() {
		return t.State(), nil
	}
	var now mcp.Task
	err := t.do(ctx, &call{method: mcp.MethodGetTask, params: mcp.TaskParams{TaskID: t.id}, decode: func(raw []byte) (err error) {
		now, err = t.decodeState(raw)
		return err
	}}, opts)
	if err != nil {
		return mcp.Task{}, err
	}
	t.setState(now)
	return t.State(), nil
}

// Update gives the server answers to what the task asks in the InputRequests of its State, to all of it or some (tasks extension, "Task Update Requests").
// [Task.Wait] does so by itself with the callbacks in [Options]; what is answered here it does not ask any more. Tasks of 2025-11-25 have no such request:
// there the server asks.
func (t *Task) Update(ctx context.Context, answers mcp.InputResponses, opts ...CallOption) error {
	params := mcp.UpdateTaskParams{TaskID: t.id, InputResponses: answers}
	if err := t.do(ctx, &call{method: mcp.MethodUpdateTask, params: params, decode: ignore}, opts); err != nil {
		return err
	}
	for key := range answers {
		t.markAsked(key)
	}
	return nil
}

// Cancel asks the server to end the task (tasks extension, "Task Cancellation"). nil means that it has heard, or that the task has ended before; whether it was
// cancelled, and when, [Task.Poll] and [Task.Wait] tell.
func (t *Task) Cancel(ctx context.Context, opts ...CallOption) error {
	if t.ended() {
		return nil
	}
	err := t.do(ctx, &call{method: mcp.MethodCancelTask, params: mcp.TaskParams{TaskID: t.id}, decode: func(raw []byte) error {
		if now, err := t.decodeState(raw); err == nil && t.experimental() { // the extension says nothing of the state here
			t.setState(now)
		}
		return nil
	}}, opts)
	if t.experimental() && errors.Is(err, rpc.ErrInvalidParams) { // it does not know the task, or the task has ended
		if now, bad := t.Poll(ctx, opts...); bad == nil && now.Status.Terminal() {
			return nil
		}
	}
	return err
}

func ignore([]byte) error { return nil }

// Wait waits for the end of the task and returns the result of its tool. It asks the server from time to time, as often as that suggests but at least once a
// minute, and answers its questions, as [Client.CallTool] does. When its time has run out (see [Options]; a change of the task's state extends it) or ctx has
// ended, the task goes on, and may be waited for again.
//
// The error wraps an [*rpc.Error] with the code that the call would have failed with, a [*TaskCancelledError], or one of [Client.Call]. [rpc.ErrInvalidParams]
// also matches when the server does not know the task, because its time to live has passed, say. A task that asks for what nobody here answers is an
// [*InputRequiredError]. Several may wait for one Task, and each question is asked once; for two Tasks with the same id it is asked twice. Of the options,
// [Timeout], [Meta], [OnTask] and [ByHand] have a meaning here.
func (t *Task) Wait(ctx context.Context, opts ...CallOption) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	if err := t.wait(ctx, opts, decodeInto(result)); err != nil {
		return nil, err
	}
	return result, nil
}

// WaitRaw is [Task.Wait] with the result as the server wrote it, every byte of it.
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

// carryOn goes on where a call has become a task, or was refused because of that. A task that nobody learns of is not left to run when the call fails.
func (c *Client) followTask(ctx context.Context, r *call, err error) error {
	switch came := err.(type) {
	case *rpc.Error:
		return c.taskRefusalError(r, came)
	case *createdTaskError:
		if r.method != mcp.MethodCallTool {
			return protocolError("a task, which %s cannot become", r.method)
		}
		t := &Task{c: c, id: came.task.TaskID, tool: r.tool, confirmed: true, state: came.task, seen: time.Now()}
		if r.started != nil {
			*r.started = t
			return nil
		}
		handed := false
		defer func() {
			if !handed && !t.ended() && !t.isGone() {
				c.cancelAbandonedTask(t)
			}
		}()
		err = c.waitTask(ctx, r, t)
		_, handed = err.(*InputRequiredError)
	}
	return err
}

const (
	maxAbandoned    = 16 // tasks that are being cancelled
	abandonTimeout = 10 * time.Second
)

// abandon has the server cancel a task that nobody waits for, and does not wait for that. What is too much, or comes too late, is for the task's time to live.
func (c *Client) cancelAbandonedTask(t *Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || c.abandoned == maxAbandoned {
		return
	}
	c.abandoned++
	c.wg.Go(func() {
		r := &call{method: mcp.MethodCancelTask, params: mcp.TaskParams{TaskID: t.id}, decode: ignore}
		_ = t.do(c.ctx, r, []CallOption{Timeout(abandonTimeout)})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.abandoned--
	})
}
