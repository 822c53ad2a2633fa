package server

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/task"
)

// A TaskStore stores tasks, so that clients find them until they expire. A server writes a task
// when it starts, when its status or requests change and when it ends, and reads it by its id. If
// several servers share a store, each of them can report the state of a task, but only the server
// on which the task runs accepts responses and cancellation. If that server dies, a working task
// stays in this state until it expires.
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
	Expires time.Time `json:"expires"` // when it is deleted
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
	for len(m.tasks)+more > m.maxTasks || m.size+grows > m.maxBytes {
		victim := m.evictionCandidate(id)
		if victim == nil {
			return ErrTasksFull
		}
		m.drop(victim)
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

// evictionCandidate returns the ended task to evict first. It never returns the task id.
func (m *memoryTasks) evictionCandidate(id string) *storedTask {
	usage := map[string]int{}
	var ended []*storedTask
	for _, k := range m.tasks {
		usage[k.Owner] += k.size
		if k.Task.Status.Terminal() && k.Task.TaskID != id {
			ended = append(ended, k)
		}
	}
	if ended == nil {
		return nil
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
