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

// TaskOptions are the settings of tasks: calls of tools that are answered with a promise and go on
// by themselves. Both kinds are served, the extension io.modelcontextprotocol/tasks to modern
// clients and the experimental one of 2025-11-25 to clients of that revision, from the same tools:
// those with [Tool].Tasks, and the operations that For names. A server declares tasks if it has
// either.
//
// A task belongs to the principal whose call it was, and does not exist for others. Where nobody is
// authenticated, a modern client needs no more than its id, which cannot be guessed, and one of
// 2025-11-25 sees the tasks of its own connection, which end with it. All others outlive their
// connection, and end with [Server.Close].
//
// Within a task, [Elicit] and its like block until the client has answered, and may be called by
// several goroutines at a time. [Progress] becomes the task's status message; what is logged for
// the client is dropped. A handler whose task has ended early, by tasks/cancel, its time or Close,
// learns it from its context.
type TaskOptions struct {
	// For says of an operation of the catalog whether calls of it are tasks: never, if the client
	// can have it so, or always. nil: never. It is asked when the list of tools is made, and has to
	// give the same answer each time.
	For func(op *dispatch.Operation) mcp.TaskSupport
	// TTL is how long a task may take, and how long it is kept after it has ended; a client of
	// 2025-11-25 may ask for less. 0: 1 hour.
	TTL time.Duration
	// PollInterval is how often clients are to ask how far a task is; 0: 1 second.
	PollInterval time.Duration
	// MaxRunning is how many tasks of one client run at a time, and of all clients together 16
	// times that; 0: 32. Of the latter, a principal has at most half of what the others leave.
	MaxRunning int
	// Store keeps the tasks; nil: [MemoryTasks](1024, 64 MiB).
	Store TaskStore
}

// BecomeTask has the call of a [Tool] with TaskLater go on as a task: the client gets its answer
// now, and ctx goes on. Until then, questions to the client are asked as by any call, and the
// handler may run several times; from then on they are the task's, and it does not run again. It
// does nothing where the call is a task already, or its client cannot have tasks: the handler goes
// on all the same.
//
// An error is to be returned from the handler: there are too many tasks, the client has gone, or
// has not answered yet. It is to be called before the handler returns; of several goroutines that
// do, one makes the call a task.
func BecomeTask(ctx context.Context) error {
	if r := requestFrom(ctx); r != nil && r.task != nil {
		return r.task.create()
	}
	return nil
}

// Close ends all tasks that run, as failed, and blocks until their handlers have returned or ctx
// ends: the error says then how many have not. There are no new tasks from then on. Connections are
// none of its business. It may be called any number of times.
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
	return fmt.Errorf("server: %d tasks still run that do not heed the end of their context: %w",
		s.tasks.runningTotal, context.Cause(ctx))
}

// tasks are the tasks of a server.
type tasks struct {
	TaskOptions
	enabled atomic.Bool // a tool or operation may become a task, or might have once

	mu           sync.Mutex
	live         map[string]*task // that have not ended, by id
	running      map[string]int   // how many handlers run, by owner; some for tasks that have ended
	runningTotal int              // all of them
	slots        *quota.Pool      // for them, by principal
	shutDown     bool
	idle         chan struct{} // closed when shut down, and no handler runs
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

// acquire takes a place for a handler of an owner's task, in the name of its holder, if there is
// one.
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

// release gives the place back.
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

// add makes a task known by its id; not any more when the server is shut down.
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

// beginShutdown lets no more tasks begin, and returns those there are.
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
