package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Shared is a Store that several servers have in common. A task runs on the server that has put
// it there; all of them find it, answer its questions and cancel it. Errors that match
// ErrUnavailable say that nothing can be said now.
type Shared interface {
	// Put stores a state of a task that this server runs. It fails with an error that matches
	// ErrTaken if another server has ended the task, or this one runs it no longer.
	Store
	// Create stores a task that this server runs from now on.
	Create(ctx context.Context, t *Record) error
	// Cancel ends a task that runs on another server as cancelled, unless it has ended, and returns
	// its state. It returns nil if there is no such task.
	Cancel(ctx context.Context, id string) (*Record, error)
	// Answer keeps answers to questions of a task, by their keys, for the server on which it runs.
	// The first answer to a question counts.
	Answer(ctx context.Context, id string, answers map[string]Answer) error
	// Tell tells the other servers that a task has changed, for their clients. It does not block.
	Tell(id, session string)
}

// An Answer is a client's response to a question of a task.
type Answer struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpc.Error      `json:"error,omitempty"`
}

// A Replica is a server as a Shared sees it. None of its functions waits for the store.
type Replica struct {
	*Tasks
	// Changed tells the server's own clients that a task has changed. session is that of the
	// legacy client whose task it is, or "".
	Changed func(id, session string)
	// Watched returns the tasks of which clients want to be told.
	Watched func() []string
}

// Key is the key of the [Replica] in the context of a connection, for package streamable. There is
// none if the application has a store of tasks.
type Key struct{}

var (
	// ErrUnavailable is matched by the error of a Shared that cannot be used now.
	ErrUnavailable = errors.New("server: what the servers share cannot be used now")
	// ErrTaken is matched by the error for a task that another server has ended, or that nobody
	// has any more.
	ErrTaken = errors.New("server: another server has ended the task")
	// ErrTooLarge is matched by the error for a task that is too large for its store.
	ErrTooLarge = errors.New("server: the task is too large for its store")

	errLost = errors.New("server: the task belongs to this server no longer")
)

// Lost is why a task has failed whose server is gone, or has not reached the others.
var Lost = rpc.Errorf(rpc.CodeInternalError, "The server that ran the task has ended, or could not "+
	"reach the other servers in time; the outcome of the task is unknown")

// errShutDown is why a task has failed whose server was shut down.
var errShutDown = rpc.Errorf(rpc.CodeBusy, "The server was shut down before the task was done")

// Share makes the tasks those of a store that servers share, from now on, and reports whether it
// did: not if they are shared already.
func (all *Tasks) Share(s Shared) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.shared != nil {
		return false
	}
	all.shared = s
	return true
}

// Shared returns the store that servers share, or nil.
func (all *Tasks) Shared() Shared {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.shared
}

// store returns where the tasks are.
func (all *Tasks) store() Store {
	if s := all.Shared(); s != nil {
		return s
	}
	return all.Store
}

// Answered passes on answers that clients have given to other servers. Questions that are not open
// are ignored.
func (all *Tasks) Answered(id string, answers map[string]Answer) {
	t := all.find(id)
	if t == nil {
		return
	}
	changed := false
	for key, a := range answers {
		r := response{answer: a.Result}
		if a.Error != nil {
			r.err = a.Error
		}
		changed = t.resolve(key, r) || changed
	}
	if changed {
		go t.SaveAndNotify()
	}
}

// Restore stores a running task again, which the store has lost.
func (all *Tasks) Restore(id string) {
	if t := all.find(id); t != nil {
		go t.SaveAndNotify()
	}
}

// Ended ends a running task with the state that another server has given it.
func (all *Tasks) Ended(id string, r *Record) {
	t := all.find(id)
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.final != nil { // its own end finds out
		t.mu.Unlock()
		return
	}
	final := *r
	t.beginEnd(&final)
	t.mu.Unlock()
	cause := errCancelled
	if final.Task.Status != mcp.TaskCancelled {
		cause = errLost
	}
	t.Cancel(cause)
	t.settle()
}

// Lose ends a running task as failed, because it belongs to this server no longer: nothing of it is
// stored any more.
func (all *Tasks) Lose(id string) {
	t := all.find(id)
	if t == nil {
		return
	}
	t.mu.Lock()
	t.lost = true
	t.mu.Unlock()
	go t.end(Outcome{Failure: Lost})
}

// EndAll ends all running tasks as failed because the server is shut down, and waits until that is
// stored or ctx ends. Handlers may run longer.
func (all *Tasks) EndAll(ctx context.Context) {
	running := all.running()
	for _, t := range running {
		go t.end(Outcome{Failure: errShutDown})
	}
	for _, t := range running {
		select {
		case <-t.ended:
		case <-ctx.Done():
		}
	}
}

// reportInterval is how often the status message of a task is stored for other servers.
const reportInterval = time.Second

// saveReport stores the status message.
func (t *Task) saveReport() {
	t.mu.Lock()
	t.reported = false
	ended := t.final != nil
	t.mu.Unlock()
	if !ended {
		_ = t.save() // if it fails, the next message is stored
	}
}

// savePause is how long the state of a task waits before it is stored again.
const savePause = 200 * time.Millisecond

// saveUntil is save that tries again while the servers' store cannot be used, until done is closed
// or the task is lost, which the store says in a bounded time.
func (t *Task) saveUntil(done <-chan struct{}) error {
	for {
		err := t.save()
		if !errors.Is(err, ErrUnavailable) {
			return err
		}
		select {
		case <-time.After(savePause):
		case <-done:
			return err
		}
	}
}

// saveFinal stores the outcome of a task.
func (t *Task) saveFinal() error { return t.saveUntil(nil) }

// adopt makes the state that others see the final one, of a task that this server may not end.
func (t *Task) adopt(final *Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context), storeTimeout)
	defer cancel()
	r, err := t.Tasks.store().Get(ctx, t.initial.TaskID)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && r != nil && r.Task.Status.Terminal() {
		*final = *r
		return
	}
	final.Task.Result = nil
	final.setFailed(Lost)
}
