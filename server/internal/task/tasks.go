// Package task runs calls that continue after their requests were answered, and stores their state.
// It has both forms of tasks: those of the extension io.modelcontextprotocol/tasks, and the
// experimental ones of 2025-11-25.
package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// Options are the settings of the tasks of a server.
type Options struct {
	TTL          time.Duration // of tasks, and how long they are kept after their end; 0: 1 hour
	PollInterval time.Duration // 0: 1 second
	MaxRunning   int           // for one owner; 0: 32
	Store        Store
	Log          *slog.Logger
}

// Tasks holds the tasks of a server.
type Tasks struct {
	Options

	mu           sync.Mutex
	shared       Shared           // in place of Store; nil: none
	elsewhere    map[string]*wait // requests that wait for tasks of other servers, by task
	live         map[string]*Task // running tasks by id
	handlers     map[string]int   // running handlers by owner, including those of ended tasks
	runningTotal int              // of all owners
	slots        *quota.Pool      // for handlers, by principal
	shutDown     bool
	idle         chan struct{} // closed when shut down and no handler runs
}

// New returns the tasks of a server.
func New(o Options) *Tasks {
	o.TTL = cmp.Or(o.TTL, time.Hour)
	o.PollInterval = cmp.Or(o.PollInterval, time.Second)
	o.MaxRunning = cmp.Or(o.MaxRunning, 32)
	return &Tasks{Options: o, slots: quota.NewPool(16 * int64(o.MaxRunning)),
		live: map[string]*Task{}, handlers: map[string]int{}, idle: make(chan struct{})}
}

// Close ends all running tasks as failed and waits until their handlers have returned or ctx ends.
// If ctx ends first, the error says how many handlers still run. Afterwards no task can be created.
func (all *Tasks) Close(ctx context.Context) error {
	for _, t := range all.beginShutdown() {
		go t.end(Outcome{Failure: errShutDown})
	}
	select {
	case <-all.idle:
		return nil
	case <-ctx.Done():
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.runningTotal == 0 {
		return nil
	}
	return fmt.Errorf("server: %d tasks still run after their context has ended: %w",
		all.runningTotal, context.Cause(ctx))
}

// Find returns the task with this id. The record is nil if the task does not exist; the task is nil
// if it has ended or runs on another server.
func (all *Tasks) Find(ctx context.Context, id string) (*Task, *Record, error) {
	if t := all.find(id); t != nil {
		record := t.Snapshot()
		return t, &record, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	record, err := all.store().Get(ctx, id)
	if err != nil || record == nil || !time.Now().Before(record.Expires) {
		return nil, nil, err
	}
	return nil, record, nil
}

// List returns up to limit tasks of an owner whose ids follow after, sorted by id. It may return
// expired tasks.
func (all *Tasks) List(ctx context.Context, owner, after string, limit int) ([]*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, err := all.store().List(ctx, owner, after, limit)
	for i, record := range records {
		if t := all.find(record.Task.TaskID); t != nil { // newer than the record in the store
			now := t.Snapshot()
			records[i] = &now
		}
	}
	return records, err
}

// acquire takes a slot for the handler of a task of owner, from the quota of holder.
func (all *Tasks) acquire(owner, holder string) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.shutDown:
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	case all.handlers[owner] >= all.MaxRunning:
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks are running already; cancel one or try again later", all.handlers[owner])
	}
	switch err := all.slots.Take(holder, 1); {
	case errors.Is(err, quota.ErrShare):
		return rpc.Errorf(rpc.CodeBusy,
			"you have %d running tasks, which is your share; cancel one or try again later",
			all.slots.Held(holder))
	case err != nil:
		return rpc.Errorf(rpc.CodeBusy,
			"%d tasks are running, which is the limit; try again later", all.runningTotal)
	}
	all.handlers[owner]++
	all.runningTotal++
	return nil
}

// release returns the slot that acquire has taken.
func (all *Tasks) release(owner, holder string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.runningTotal--
	all.slots.Give(holder, 1)
	if all.handlers[owner]--; all.handlers[owner] == 0 {
		delete(all.handlers, owner)
	}
	if all.shutDown && all.runningTotal == 0 {
		close(all.idle)
	}
}

// add registers a task. It returns false if the server is shut down.
func (all *Tasks) add(id string, one *Task) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.shutDown {
		all.live[id] = one
	}
	return !all.shutDown
}

func (all *Tasks) remove(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.live, id)
}

func (all *Tasks) find(id string) *Task {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.live[id]
}

// beginShutdown prevents new tasks and returns the running ones.
func (all *Tasks) beginShutdown() []*Task {
	all.mu.Lock()
	if !all.shutDown && all.runningTotal == 0 {
		close(all.idle)
	}
	all.shutDown = true
	all.mu.Unlock()
	return all.running()
}

// running returns the tasks that run on this server and have not ended.
func (all *Tasks) running() []*Task {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Values(all.live))
}

// Running returns the ids of the tasks that run on this server and have not ended.
func (all *Tasks) Running() []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.live))
}
