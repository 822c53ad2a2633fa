package server

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

// storeTimeout is the time limit of one call of a [TaskStore].
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
func (t *task) save() error {
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
func (t *task) saveLoop() {
	for {
		t.mu.Lock()
		p := t.nextWrite
		t.nextWrite = nil
		if p == nil {
			t.writing = false
			t.mu.Unlock()
			return
		}
		record, discarded := t.record, t.discarded // Put may keep this copy
		if t.final != nil {
			record = *t.final
		}
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.request), storeTimeout)
		if store := t.server.tasks.Store; discarded {
			p.err = store.Delete(ctx, record.Task.TaskID)
		} else {
			p.err = store.Put(ctx, &record)
		}
		cancel()
		close(p.done)
	}
}

// discard deletes the task from the store.
func (t *task) discard() {
	t.mu.Lock()
	t.discarded = true
	t.mu.Unlock()
	if err := t.save(); err != nil {
		t.server.log.Error("a task cannot be taken out of its store", "error", err)
	}
}

// A safeStore is a store of the application, whose methods may panic.
type safeStore struct{ TaskStore }

func (s safeStore) Put(ctx context.Context, t *TaskRecord) error {
	return contain.Do(func() error { return s.TaskStore.Put(ctx, t) })
}

func (s safeStore) Get(ctx context.Context, id string) (t *TaskRecord, err error) {
	err = contain.Do(func() (err error) {
		t, err = s.TaskStore.Get(ctx, id)
		return err
	})
	return t, err
}

func (s safeStore) List(ctx context.Context, owner, after string, limit int) (all []*TaskRecord,
	err error) {
	err = contain.Do(func() (err error) {
		all, err = s.TaskStore.List(ctx, owner, after, limit)
		return err
	})
	return all, err
}

func (s safeStore) Delete(ctx context.Context, id string) error {
	return contain.Do(func() error { return s.TaskStore.Delete(ctx, id) })
}
