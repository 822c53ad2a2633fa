package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TaskOptions configure tasks: calls of tools whose result comes later. Both kinds are served from
// the same tools, those with [RawTool].Tasks and the operations that For selects: the extension
// io.modelcontextprotocol/tasks for modern clients, and the experimental tasks for clients of
// 2025-11-25. A server declares tasks if it has such a tool or operation.
//
// A task belongs to the principal of its call and does not exist for others. Without authentication
// a modern client needs only the task's id, which cannot be guessed, and a client of 2025-11-25
// sees the tasks of its connection, which end with it. All other tasks outlive their connection and
// end with [Server.Close].
//
// Within a task, [Elicit] and similar functions block until the client has responded, and are safe
// for concurrent use. [Progress] becomes the status message of the task; log messages to the client
// are dropped. The context of the handler ends with the task: by tasks/cancel, its time to live or
// Close.
type TaskOptions struct {
	// For returns whether calls of an operation are tasks: never, optionally or always. nil: never.
	// It is called when the list of tools is built and must always return the same value.
	For func(op *dispatch.Operation) mcp.TaskSupport
	// TTL is the maximum duration of a task, and how long it is kept after its end; a client of
	// 2025-11-25 may request less. 0: 1 hour.
	TTL time.Duration
	// PollInterval is the suggested interval of tasks/get; 0: 1 second.
	PollInterval time.Duration
	// MaxRunning is the maximum number of running tasks of one client; of all clients 16 times
	// that, of which a principal has at most half of what the others leave. 0: 32.
	MaxRunning int
	// Store stores the tasks; nil: [MemoryTasks](1024, 64 MiB).
	Store TaskStore
}

// BecomeTask turns the call of a [RawTool] with TaskLater into a task: the client is answered now,
// and ctx continues. Before that, requests to the client work as in any call, and the handler may
// run several times; after it they are requests of the task, and the handler does not run again.
// BecomeTask does nothing if the call is a task already or the client cannot have tasks.
//
// Return its error from the handler: there are too many tasks, or the client is gone or has not
// responded yet. Call it before the handler returns. It is safe for concurrent use.
func BecomeTask(ctx context.Context) error {
	if r := requestFrom(ctx); r != nil && r.task != nil {
		return r.task.create()
	}
	return nil
}

// Close ends all running tasks as failed and waits until their handlers have returned or ctx ends;
// the error then says how many have not. No task can be created after it. Close does not close
// connections. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	for _, t := range s.tasks.beginShutdown() {
		go t.end(outcome{
			failure: rpc.Errorf(rpc.CodeInternalError,
				"The server was shut down before the task was done")})
	}
	select {
	case <-s.tasks.idle:
		return nil
	case <-ctx.Done():
	}
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	if s.tasks.runningTotal == 0 {
		return nil
	}
	return fmt.Errorf("server: %d tasks still run after their context has ended: %w",
		s.tasks.runningTotal, context.Cause(ctx))
}

// tasks holds the tasks of a server.
type tasks struct {
	TaskOptions
	enabled atomic.Bool // a tool or operation may become a task, or once could

	mu           sync.Mutex
	live         map[string]*task // not ended, by id
	running      map[string]int   // running handlers by owner, including those of ended tasks
	runningTotal int              // all of them
	slots        *quota.Pool      // for handlers, by principal
	shutDown     bool
	idle         chan struct{} // closed when shut down and no handler runs
}

func (t *tasks) init(o TaskOptions) {
	o.TTL = cmp.Or(o.TTL, time.Hour)
	o.PollInterval = cmp.Or(o.PollInterval, time.Second)
	o.MaxRunning = cmp.Or(o.MaxRunning, 32)
	if o.Store == nil {
		o.Store = MemoryTasks(1024, 64<<20)
	} else {
		o.Store = safeStore{o.Store}
	}
	t.TaskOptions = o
	t.slots = quota.NewPool(16 * int64(o.MaxRunning))
	t.live, t.running, t.idle = map[string]*task{}, map[string]int{}, make(chan struct{})
	t.enabled.Store(o.For != nil)
}

// support returns whether calls of an operation are tasks.
func (t *tasks) support(op *dispatch.Operation) mcp.TaskSupport {
	if t.For == nil {
		return mcp.TaskForbidden
	}
	return t.For(op)
}

// acquire takes a slot for a handler of owner's task from the quota of holder.
func (t *tasks) acquire(owner, holder string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.shutDown:
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	case t.running[owner] >= t.MaxRunning:
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks are running already; cancel one or try again later", t.running[owner])
	}
	switch err := t.slots.Take(holder, 1); {
	case errors.Is(err, quota.ErrShare):
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks of yours are running already, which is your share; cancel one or try again later",
			t.slots.Held(holder))
	case err != nil:
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks are running, which are as many as may be; try again later", t.runningTotal)
	}
	t.running[owner]++
	t.runningTotal++
	return nil
}

// release returns the slot.
func (t *tasks) release(owner, holder string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runningTotal--
	t.slots.Give(holder, 1)
	if t.running[owner]--; t.running[owner] == 0 {
		delete(t.running, owner)
	}
	if t.shutDown && t.runningTotal == 0 {
		close(t.idle)
	}
}

// add registers a task. It returns false if the server is shut down.
func (t *tasks) add(id string, one *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shutDown {
		t.live[id] = one
	}
	return !t.shutDown
}

func (t *tasks) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, id)
}

func (t *tasks) find(id string) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[id]
}

// beginShutdown prevents new tasks and returns the running ones.
func (t *tasks) beginShutdown() (all []*task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.shutDown && t.runningTotal == 0 {
		close(t.idle)
	}
	t.shutDown = true
	for _, one := range t.live {
		all = append(all, one)
	}
	return all
}
