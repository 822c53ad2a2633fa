package server

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/projection"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
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
// it; if servers share them, the tasks of its session. All other tasks outlive their connection and
// end with [Server.Close].
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
	// Store stores the tasks; nil: [MemoryTasks](1024, 64 MiB), or what several servers over HTTP
	// share, if there is such a store.
	Store TaskStore
}

// tasks holds the tasks of a server.
type tasks struct {
	*task.Tasks
	of      func(op *dispatch.Operation) mcp.TaskSupport // see TaskOptions.For
	replica task.Replica                                 // see Server.taskReplica
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
		if items.IsTask(t.support(op)) {
			return mcp.TaskOptional
		}
	}
	return mcp.TaskForbidden
}

// appendTask appends the members of a notification about the current state of a task. It appends
// nothing if the task no longer exists.
func (t *tasks) appendTask(ctx context.Context, params outgoing.Params,
	n subscriptions.Change) outgoing.Params {
	_, record, err := t.Find(ctx, n.Subject)
	if err != nil || record == nil {
		return params
	}
	var state any = record.Task
	if n.Method == mcp.NotificationTaskStatus {
		state = task.Experimental(&record.Task)
	}
	text, err := mcp.Marshal(state)
	if err != nil {
		return params
	}
	return append(params, text[1:len(text)-1]...)
}

// A TaskStore stores tasks, so that clients find them until they expire. A server writes a task
// when it starts, when its status or requests change and when it ends, and reads it by its id. If
// several servers share a store of the application, each of them can report the state of a task,
// but only the server on which the task runs accepts responses and cancellation. If that server
// dies, a working task stays in this state until it expires. What servers over HTTP share in a
// store of package streamable has none of these limits.
//
// The methods are called concurrently, with contexts that end after at most 10 seconds. The server
// does not modify a record after it has passed it to Put.
type TaskStore interface {
	// Put stores a task and replaces the one with its id. It returns [ErrTasksFull] if there is no
	// room.
	Put(ctx context.Context, t *TaskRecord) error
	// Get returns the task with this id, or nil if there is none. It may return an expired task.
	Get(ctx context.Context, id string) (*TaskRecord, error)
	// List returns up to limit tasks of an owner whose ids follow after, sorted by id.
	List(ctx context.Context, owner, after string, limit int) ([]*TaskRecord, error)
	// Delete deletes a task, if it exists.
	Delete(ctx context.Context, id string) error
}

// A TaskRecord is a task in a [TaskStore]. encoding/json encodes and decodes it.
type TaskRecord struct {
	Task    mcp.Task  `json:"task"` // ids sort by age, the oldest first
	Owner   string    `json:"owner"`
	Tool    string    `json:"tool,omitempty"`    // whose call it is
	Session string    `json:"session,omitempty"` // of a client that several servers know
	Expires time.Time `json:"expires"`           // when it is deleted
}

// ErrTasksFull is the error of a [TaskStore] that has no room for another task. The client may try
// again later.
var ErrTasksFull = task.ErrFull

// MemoryTasks returns a store in memory that holds at most maxTasks tasks and about maxBytes bytes.
// When it is full, it evicts ended tasks: those of the owner that uses most memory, the oldest
// first. It removes expired tasks.
func MemoryTasks(maxTasks, maxBytes int) TaskStore {
	return &memoryTasks{maxTasks: maxTasks, maxBytes: maxBytes, tasks: map[string]*storedTask{}}
}

type memoryTasks struct {
	maxTasks, maxBytes int

	mu    sync.Mutex
	tasks map[string]*storedTask
	size  int
}

type storedTask struct {
	*TaskRecord
	size  int
	timer *time.Timer
}

func (m *memoryTasks) Put(_ context.Context, t *TaskRecord) error {
	size := 512 + len(t.Task.Result) + len(t.Task.StatusMessage)
	if t.Task.Error != nil {
		size += len(t.Task.Error.Message) + len(t.Task.Error.Data)
	}
	for key, q := range t.Task.InputRequests {
		size += len(key) + len(q.Params) + 64
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := t.Task.TaskID
	more, grows := 1, size
	if old := m.tasks[id]; old != nil {
		more, grows = 0, size-old.size
	}
	// What ended tasks leave is evicted only if that is enough.
	count, held := 1, size
	for _, k := range m.tasks {
		if k.Task.TaskID != id && !k.Task.Status.Terminal() {
			count, held = count+1, held+k.size
		}
	}
	if count > m.maxTasks || held > m.maxBytes {
		return ErrTasksFull
	}
	for len(m.tasks)+more > m.maxTasks || m.size+grows > m.maxBytes {
		m.drop(m.evictionCandidate(id))
	}
	m.drop(m.tasks[id])
	kept := &storedTask{TaskRecord: t, size: size}
	kept.timer = time.AfterFunc(time.Until(t.Expires), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.tasks[id] == kept {
			m.drop(kept)
		}
	})
	m.tasks[id] = kept
	m.size += size
	return nil
}

// evictionCandidate returns the ended task to evict first, other than the task id. There must be
// one.
func (m *memoryTasks) evictionCandidate(id string) *storedTask {
	usage := map[string]int{}
	var ended []*storedTask
	for _, k := range m.tasks {
		usage[k.Owner] += k.size
		if k.Task.Status.Terminal() && k.Task.TaskID != id {
			ended = append(ended, k)
		}
	}
	return slices.MinFunc(ended, func(a, b *storedTask) int {
		return cmp.Or(cmp.Compare(usage[b.Owner], usage[a.Owner]),
			strings.Compare(a.Task.TaskID, b.Task.TaskID))
	})
}

func (m *memoryTasks) drop(k *storedTask) {
	if k != nil {
		k.timer.Stop()
		delete(m.tasks, k.Task.TaskID)
		m.size -= k.size
	}
}

func (m *memoryTasks) Get(_ context.Context, id string) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.tasks[id]; k != nil {
		return k.TaskRecord, nil
	}
	return nil, nil
}

func (m *memoryTasks) List(_ context.Context, owner, after string, limit int) (found []*TaskRecord,
	_ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, k := range m.tasks {
		if k.Owner == owner && id > after {
			found = append(found, k.TaskRecord)
		}
	}
	slices.SortFunc(found, func(a, b *TaskRecord) int {
		return strings.Compare(a.Task.TaskID, b.Task.TaskID)
	})
	return found[:min(limit, len(found))], nil
}

func (m *memoryTasks) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(m.tasks[id])
	return nil
}

// A taskStore passes the records of package task to a store of the application, whose methods may
// panic.
type taskStore struct{ TaskStore }

func (s taskStore) Put(ctx context.Context, t *task.Record) error {
	return contain.Do(func() error { return s.TaskStore.Put(ctx, (*TaskRecord)(t)) })
}

func (s taskStore) Get(ctx context.Context, id string) (t *task.Record, err error) {
	err = contain.Do(func() error {
		found, err := s.TaskStore.Get(ctx, id)
		t = (*task.Record)(found)
		return err
	})
	return t, err
}

func (s taskStore) List(ctx context.Context, owner, after string, limit int) (all []*task.Record,
	err error) {
	err = contain.Do(func() error {
		found, err := s.TaskStore.List(ctx, owner, after, limit)
		for _, t := range found {
			all = append(all, (*task.Record)(t))
		}
		return err
	})
	return all, err
}

func (s taskStore) Delete(ctx context.Context, id string) error {
	return contain.Do(func() error { return s.TaskStore.Delete(ctx, id) })
}
