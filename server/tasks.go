package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/projection"
	"github.com/stdwire/stdwire/server/internal/task"
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
		return r.task.Create()
	}
	return nil
}

// Close ends all running tasks as failed and waits until their handlers have returned or ctx ends.
// If ctx ends first, the error says how many handlers still run. Afterwards no task can be created.
// Close does not close connections. It may be called more than once.
func (s *Server) Close(ctx context.Context) error {
	return s.tasks.Close(ctx)
}

// tasks holds the tasks of a server.
type tasks struct {
	*task.Tasks
	of func(op *dispatch.Operation) mcp.TaskSupport // see TaskOptions.For
	// enabled says that a tool or operation may become a task, or once might have.
	enabled atomic.Bool
}

func (t *tasks) init(o TaskOptions, log *slog.Logger) {
	if o.Store == nil {
		o.Store = MemoryTasks(1024, 64<<20)
	}
	t.Tasks = task.New(task.Options{TTL: o.TTL, PollInterval: o.PollInterval,
		MaxRunning: o.MaxRunning, Store: taskStore{o.Store}, Log: log})
	t.of = o.For
	t.enabled.Store(o.For != nil)
}

// support says whether calls of an operation are tasks.
func (t *tasks) support(op *dispatch.Operation) mcp.TaskSupport {
	if t.of == nil {
		return mcp.TaskForbidden
	}
	return t.of(op)
}

// serviceSupport returns the task support of a tool with several operations. Only a call shows
// which of them it selects.
func (t *tasks) serviceSupport(s *projection.Service) mcp.TaskSupport {
	for op := range s.Operations() {
		if isTask(t.support(op)) {
			return mcp.TaskOptional
		}
	}
	return mcp.TaskForbidden
}

// taskSupport says whether a call with these arguments may be a task.
func (t *tool) taskSupport(arguments json.RawMessage, all *tasks) mcp.TaskSupport {
	if t.service == nil {
		return t.tasks
	}
	if op := t.operationFor(arguments); op != nil {
		return all.support(op)
	}
	return mcp.TaskForbidden
}

func isTask(s mcp.TaskSupport) bool { return s == mcp.TaskOptional || s == mcp.TaskRequired }

// tasksExtension returns the tasks extension. The server offers it once it has tasks.
func tasksExtension() *extension {
	return &extension{
		Extension: Extension{ID: mcp.ExtensionTasks},
		offered:   func(e *era.Era, has declaredKinds) bool { return e.Modern && has.tasks },
		methods: map[string]method{
			mcp.MethodGetTask:    {modern: true, handle: getTask},
			mcp.MethodUpdateTask: {modern: true, handle: updateTask},
			mcp.MethodCancelTask: {modern: true, handle: cancelTask},
		},
		undeclared: errNeedsTasks, // tasks extension, "Capability Negotiation"
	}
}
