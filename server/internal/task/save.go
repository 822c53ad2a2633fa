package task

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Store is the TaskStore of package server, whose methods do not panic.
type Store interface {
	Put(ctx context.Context, t *Record) error
	Get(ctx context.Context, id string) (*Record, error)
	List(ctx context.Context, owner, after string, limit int) ([]*Record, error)
	Delete(ctx context.Context, id string) error
}

// A Record is the TaskRecord of package server.
type Record struct {
	Task    mcp.Task  `json:"task"` // ids sort by age, the oldest first
	Owner   string    `json:"owner"`
	Tool    string    `json:"tool,omitempty"`
	Session string    `json:"session,omitempty"`
	Expires time.Time `json:"expires"` // when it is deleted
}

// OwnerSession begins the owner of tasks that belong to a connection, or to the session of a legacy
// client, because the client has no principal.
const OwnerSession = "session "

// ErrFull is the error of a store that has no room for another task.
var ErrFull = errors.New("server: there is no room for another task")

// storeTimeout is the time limit of one call of a [Store].
const storeTimeout = 10 * time.Second

var errStoreTimeout = errors.New(
	"server: the task store does not return after its context has ended")

// A storeWrite is one write of a task to the store. Writes of a task do not overlap: calls of save
// during a write share the next write.
type storeWrite struct {
	done chan struct{}
	err  error // set before done is closed
}

// save stores the current state of the task, or deletes a discarded one, and waits for the store.
func (t *Task) save() error {
	t.mu.Lock()
	p := t.nextWrite
	if p == nil {
		p = &storeWrite{done: make(chan struct{})}
		t.nextWrite = p
		if !t.writing {
			t.writing = true
			go t.saveLoop()
		}
	}
	t.mu.Unlock()
	// the limit of a write in progress and of this one
	timer := time.NewTimer(2*storeTimeout + time.Second)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
		return errStoreTimeout
	}
}

// saveLoop writes until no write is requested.
func (t *Task) saveLoop() {
	for {
		t.mu.Lock()
		p := t.nextWrite
		t.nextWrite = nil
		if p == nil {
			t.writing = false
			t.mu.Unlock()
			return
		}
		record := t.record // Put may keep this copy
		discarded, lost, stored := t.discarded, t.lost, t.stored
		ended := t.final != nil
		if ended {
			record = *t.final
		}
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context), storeTimeout)
		store := t.Tasks.store()
		shared, _ := store.(Shared)
		switch {
		case lost:
			p.err = errLost
		case discarded:
			p.err = store.Delete(ctx, record.Task.TaskID)
		case stored: // a change of before the end is late
		case shared != nil && !t.isTask.Load():
			p.err = shared.Create(ctx, &record)
		default:
			p.err = store.Put(ctx, &record)
			t.mu.Lock()
			t.stored = ended && p.err == nil
			t.mu.Unlock()
		}
		cancel()
		close(p.done)
	}
}

// discard deletes the task from the store.
func (t *Task) discard() {
	t.mu.Lock()
	t.discarded = true
	t.mu.Unlock()
	if err := t.save(); err != nil {
		t.Tasks.Log.Error("a task cannot be taken out of its store", "error", err)
	}
}
