package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A callRequest is a request that the page asks stdwire to send.
type callRequest struct {
	Server string          `json:"server"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"` // an object
	Meta   mcp.Meta        `json:"meta,omitzero"`    // further members of _meta
	// Task runs tools/call as a task. With tasks/get it waits until the task has ended.
	Task    bool    `json:"task,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// A call is a request that was sent, with its progress and result. The calls are kept here and not
// in the page, because the page may be reloaded while they run.
type call struct {
	ID       int64               `json:"id"`
	Request  callRequest         `json:"request"`
	Tool     string              `json:"tool,omitempty"`  // of tools/call
	Began    int64               `json:"began"`           // milliseconds since 1970
	Ended    int64               `json:"ended,omitempty"` // likewise; 0 while it runs
	Ms       float64             `json:"ms,omitempty"`    // how long it took; 0 while it runs
	Running  bool                `json:"running"`
	Progress *mcp.ProgressParams `json:"progress,omitempty"`
	Task     *mcp.Task           `json:"task,omitempty"` // its state, if it became one
	Result   json.RawMessage     `json:"result,omitempty"`
	Size     int                 `json:"size,omitempty"` // bytes of the result
	// Mismatch says how the result differs from the tool's outputSchema.
	Mismatch string         `json:"mismatch,omitempty"`
	Error    *reply.Problem `json:"error,omitempty"`

	cancel context.CancelFunc
	done   chan struct{} // closed when it does not run any more
}

const (
	maxCalls       = 500       // that are kept
	maxRunning     = 64        // calls at the same time
	maxResults     = 256 << 20 // bytes of the requests and results that are kept
	defaultTimeout = 30 * time.Minute
)

// calls are the calls of the page.
type calls struct {
	ctx     context.Context // ends with the program
	servers *servers
	changes *changes.Changes
	wg      sync.WaitGroup

	mu      sync.Mutex
	last    int64
	running int
	size    int
	all     []*call
}

func newCalls(ctx context.Context, s *servers, c *changes.Changes) *calls {
	return &calls{ctx: ctx, servers: s, changes: c}
}

var errTooManyCalls = &command.Failure{Code: "denied", Why: "too many calls are running"}

// start starts a call and returns its id.
func (c *calls) start(in callRequest) (int64, error) {
	if in.Method == "" || in.Params != nil && in.Params[0] != '{' {
		return 0, command.BadArgs("a call needs a method, and params must be an object")
	}
	_, tool, err := c.servers.callable(in.Server, in.Method, in.Params)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	started := &call{Request: in, Began: time.Now().UnixMilli(), Running: true, cancel: cancel,
		done: make(chan struct{})}
	if in.Method == mcp.MethodCallTool {
		started.Tool = tool
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += started.bytes()
	c.evict()
	if c.running >= maxRunning || c.size > maxResults && len(c.all) > 1 {
		c.size -= started.bytes()
		cancel()
		return 0, errTooManyCalls
	}
	c.running++
	c.last++
	started.ID = c.last
	c.all = append(c.all, started)
	c.wg.Go(func() { c.run(context.WithValue(ctx, callKey{}, started.ID), started, tool) })
	c.changes.Add(changes.Calls)
	return started.ID, nil
}

// checkAllowed returns a failure if the configuration does not allow the tool.
func (s *server) checkAllowed(method, tool string) error {
	if method != mcp.MethodCallTool || s.filter.Allows(tool) {
		return nil
	}
	return &command.Failure{Code: "denied", Server: s.id, Tool: tool, What: tool,
		Why: "the configuration does not allow this tool"}
}

// update runs f, which changes a call, counts what it keeps now, and tells the page.
func (c *calls) update(changed *call, f func()) {
	c.mu.Lock()
	c.size -= changed.bytes()
	f()
	c.size += changed.bytes()
	c.evict()
	c.mu.Unlock()
	c.changes.Add(changes.Calls)
}

// run sends the request and waits for the result.
func (c *calls) run(ctx context.Context, call *call, tool string) {
	defer close(call.done)
	defer call.cancel()
	began := time.Now()
	timeout := time.Duration(call.Request.Seconds * float64(time.Second))
	options := []client.CallOption{client.Timeout(cmp.Or(timeout, defaultTimeout)),
		client.Meta(call.Request.Meta), client.Fresh(),
		client.OnProgress(func(p mcp.ProgressParams) {
			c.update(call, func() { call.Progress = &p })
		}),
		client.OnTask(func(t mcp.Task) { c.update(call, func() { call.Task = &t }) })}
	var result json.RawMessage
	err := c.servers.use(ctx, call.Request.Server, func(_ *server, cl *client.Client) (err error) {
		result, err = c.send(ctx, cl, call.Request, tool, options)
		return err
	})
	mismatch := ""
	if e, ok := errors.AsType[*client.OutputError](err); ok {
		result, mismatch, err = e.Result, e.Err.Error(), nil
	}
	c.update(call, func() {
		call.Running, call.Ended = false, time.Now().UnixMilli()
		call.Ms = max(command.Milliseconds(time.Since(began)), 0.001)
		call.Result, call.Size, call.Mismatch = result, len(result), mismatch
		if err != nil {
			call.Error = reply.ProblemOf(err)
		}
		c.running--
	})
}

// send sends a request in the same way as the command for its method.
func (c *calls) send(ctx context.Context, cl *client.Client, in callRequest, tool string,
	options []client.CallOption) (json.RawMessage, error) {
	if in.Method == mcp.MethodGetTask && in.Task { // the end of ctx does not cancel the task
		id, _ := jsonscan.Text(jsonscan.Member(in.Params, "taskId"))
		return cl.Task(id).WaitRaw(ctx, options...)
	}
	if in.Method != mcp.MethodCallTool {
		return cl.Call(ctx, in.Method, in.Params, options...)
	}
	arguments := json.RawMessage(jsonscan.Member(in.Params, "arguments"))
	if !in.Task {
		return cl.CallToolRaw(ctx, tool, arguments, options...)
	}
	task, err := cl.StartTool(ctx, tool, arguments, options...)
	if err != nil {
		return nil, err
	}
	result, err := task.WaitRaw(ctx, options...)
	if ctx.Err() != nil && task.ID() != "" { // the end of a wait does not cancel a task
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = task.Cancel(ending)
	}
	return result, err
}

// bytes returns about the memory of what a call keeps of its messages.
func (c *call) bytes() int {
	n := len(c.Request.Params) + len(c.Result) + len(c.Mismatch)
	if c.Progress != nil {
		n += len(c.Progress.Message)
	}
	if c.Task != nil {
		n += len(c.Task.StatusMessage) + len(c.Task.Result)
		for _, q := range c.Task.InputRequests {
			n += len(q.Params)
		}
	}
	return n
}

// evict removes the oldest calls that are not running if there are too many. mu must be held.
func (c *calls) evict() {
	for len(c.all) > maxCalls || c.size > maxResults && len(c.all) > 1 {
		i := slices.IndexFunc(c.all, func(call *call) bool { return !call.Running })
		if i < 0 {
			return
		}
		c.size -= c.all[i].bytes()
		c.all = slices.Delete(c.all, i, i+1)
	}
}

// list returns all calls without their results and the questions of their tasks.
func (c *calls) list() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []call{}
	for _, call := range c.all {
		brief := *call
		brief.Result, brief.Request.Params = nil, nil
		if call.Task != nil {
			task := *call.Task
			task.Result, task.InputRequests = nil, nil
			brief.Task = &task
		}
		list = append(list, brief)
	}
	return list
}

// get returns a call.
func (c *calls) get(id int64) (call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		if call.ID == id {
			return *call, nil
		}
	}
	return call{}, reply.NotFound("call", id)
}

// runningOn returns the id of the call that runs on a server if there is exactly one, or 0.
func (c *calls) runningOn(server string) (found int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.all {
		switch {
		case !call.Running || call.Request.Server != server:
		case found != 0:
			return 0
		default:
			found = call.ID
		}
	}
	return found
}

// cancel cancels a call.
func (c *calls) cancel(id int64) error {
	call, err := c.get(id)
	if err == nil {
		call.cancel()
	}
	return err
}
