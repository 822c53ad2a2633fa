package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A TaskStore keeps tasks, so that clients find them again: those that have ended too, until they
// expire. A server writes a task when it begins, when its status or its questions change, and when
// it ends, and reads it by its id. With a store that several servers share, any of them tells how
// far a task is, but only the one where it runs takes answers for it and cancels it. What is still
// working when its server dies stays so until it expires.
//
// It is called by any number of goroutines at a time, with contexts that end after 10 seconds at
// most. Records are not changed once they are in it.
type TaskStore interface {
	// Put keeps a task, in place of what there was with its id. An error refuses it: [ErrTasksFull]
	// if there is no room.
	Put(ctx context.Context, t *TaskRecord) error
	// Get returns the task with that id; nil if there is none. One that has expired may still be
	// there.
	Get(ctx context.Context, id string) (*TaskRecord, error)
	// List returns the tasks of an owner, sorted by id, those behind the id after, and most of them
	// at most.
	List(ctx context.Context, owner, after string, most int) ([]*TaskRecord, error)
	// Delete takes a task away, if it is there.
	Delete(ctx context.Context, id string) error
}

// A TaskRecord is a task in a [TaskStore]. encoding/json encodes and decodes it.
type TaskRecord struct {
	Task    mcp.Task  `json:"task"` // ids of older tasks sort before those of younger ones
	Owner   string    `json:"owner"`
	Expires time.Time `json:"expires"` // when it is to be forgotten
}

// ErrTasksFull is the error of a [TaskStore] that has no room for another task, which its client
// may wait for.
var ErrTasksFull = errors.New("server: there is no room for another task")

// MemoryTasks returns a store in memory of so many tasks, and about so many bytes. Where there is
// no room, tasks that have ended make it: those of the owner who takes most, the oldest first.
// Tasks go when they expire.
func MemoryTasks(most, bytes int) TaskStore {
	return &memoryTasks{most: most, bytes: bytes, tasks: map[string]*storedTask{}}
}

type memoryTasks struct {
	most, bytes int

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
	for len(m.tasks)+more > m.most || m.size+grows > m.bytes {
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

// evictionCandidate is the ended task that goes first, other than the one that wants room.
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

func (m *memoryTasks) List(_ context.Context, owner, after string, most int) (found []*TaskRecord,
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
	return found[:min(most, len(found))], nil
}

func (m *memoryTasks) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(m.tasks[id])
	return nil
}
