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
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TaskOptions are the settings for tasks: calls of tools whose result comes later. The server has
// both kinds of tasks for the same tools, those with [RawTool].Tasks and the operations that For
// selects: the extension io.modelcontextprotocol/tasks for modern clients, and the experimental
// tasks for clients of 2025-11-25. A server declares tasks if it has such a tool or operation.
//
// A task belongs to the principal of its call and does not exist for others. Without
// authentication, the id of a task is sufficient for a modern client, and cannot be guessed. A
// client of 2025-11-25 without authentication has only the tasks of its connection, which end with
// it. All other tasks outlive their connection and end with [Server.Close].
//
// Within a task, [Elicit] and similar functions block until the client has responded, and are safe
// for concurrent use. [Progress] becomes the status message of the task; log messages to the client
// are dropped. The context of the handler ends with the task: after tasks/cancel, its time to live,
// or Close.
type TaskOptions struct {
	// For says whether calls of an operation are tasks: never, optionally or always. nil: never. It
	// is called when the list of tools is built and must always return the same value.
	For func(op *dispatch.Operation) mcp.TaskSupport
	// TTL is the maximum duration of a task, and also how long the task is kept after its end; a
	// client of 2025-11-25 may request less. 0: 1 hour.
	TTL time.Duration
	// PollInterval is the suggested interval of tasks/get; 0: 1 second.
	PollInterval time.Duration
	// MaxRunning limits the running tasks of one client; 0: 32. The limit for all clients is 16
	// times as high, and a principal has at most half of what the others do not use.
	MaxRunning int
	// Store stores the tasks; nil: [MemoryTasks](1024, 64 MiB).
	Store TaskStore
}

// BecomeTask turns the call of a [RawTool] with TaskLater into a task: the client gets its response
// now, and the handler continues with ctx. Before that, requests to the client work as in any call,
// and the handler may run several times. Afterwards they are input requests of the task, and the
// handler does not run again. BecomeTask does nothing if the call is a task already or the client
// cannot have tasks.
//
// It returns an error if there are too many tasks, or if the client has disconnected or has not
// responded yet. The handler must return this error. Call BecomeTask before the handler returns. It
// is safe for concurrent use.
func BecomeTask(ctx context.Context) error {
	if r := requestFrom(ctx); r != nil && r.task != nil {
		return r.task.create()
	}
	return nil
}

// Close ends all running tasks as failed and waits until their handlers have returned or ctx ends.
// If ctx ends first, the error says how many handlers still run. Afterwards no task can be created.
// Close does not close connections. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	for _, t := range s.tasks.beginShutdown() {
		go t.end(outcome{
			failure: rpc.Errorf(rpc.CodeBusy,
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
	enabled atomic.Bool // a tool or operation may become a task, or once might have

	mu           sync.Mutex
	live         map[string]*task // running tasks by id
	running      map[string]int   // running handlers by owner, including those of ended tasks
	runningTotal int              // of all owners
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

// support says whether calls of an operation are tasks.
func (t *tasks) support(op *dispatch.Operation) mcp.TaskSupport {
	if t.For == nil {
		return mcp.TaskForbidden
	}
	return t.For(op)
}

// acquire takes a slot for the handler of a task of owner, from the quota of holder.
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
			"you have %d running tasks, which is your share; cancel one or try again later",
			t.slots.Held(holder))
	case err != nil:
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks are running, which is the limit; try again later", t.runningTotal)
	}
	t.running[owner]++
	t.runningTotal++
	return nil
}

// release returns the slot that acquire has taken.
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
