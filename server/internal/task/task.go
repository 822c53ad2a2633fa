package task

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxStatusText = 1000 // bytes
	isoTime       = "2006-01-02T15:04:05.000Z07:00"
)

// A Call is a call that may become a task: what a task needs of its server and of the handler's
// request, which shares nothing with the client's request.
type Call struct {
	Tasks      *Tasks
	Modern     bool // the client's era
	Owner      string
	Tool       string // its name
	Session    string // of a legacy client that other servers tell of the task; else ""
	QuotaOwner string // the owner of its slots and memory in the quotas
	TTL        time.Duration
	Link       *Link

	Context context.Context         // of the handler
	Cancel  context.CancelCauseFunc // cancels Context
	// Detach detaches Context from the client's request, and reports false if that has ended; nil:
	// Context was never attached.
	Detach func() bool
	// Conn ends with the connection that the task belongs to; nil: the task outlives it.
	Conn context.Context

	// Mutex guards what Stopped returns: why the handler cannot continue, or nil.
	Mutex   *sync.Mutex
	Stopped func() error

	Retain   func(bytes int) error // reserves memory until the handler has returned
	LogError func(error) error     // logs an error of the store, and returns what the client gets
	Notify   func(id string)       // notifies the client of the task's status
}

// A Task is a call that continues after its request was answered, or a call that may become one.
// Its methods are safe for concurrent use.
type Task struct {
	Call
	isTask   atomic.Bool   // the call has become a task
	created  chan struct{} // closed when isTask is set
	initial  mcp.Task      // the task at that moment
	outcome  Outcome       // of a call that did not become a task
	cleanups []func() bool // called when the task ends

	returned bool      // the handler has returned; guarded by Mutex
	creation *creation // in progress; guarded by Mutex

	mu        sync.Mutex
	record    Record        // the current state; a store of one server lacks status messages
	final     *Record       // the final state, until the store has it; nil: not ended
	ended     chan struct{} // closed when record is final
	discarded bool          // the store must not keep the task
	lost      bool          // the task belongs to this server no longer
	stored    bool          // the store has the final state
	reported  bool          // the status message is about to be stored for other servers
	nextWrite *storeWrite   // the next write to the store; nil: none
	writing   bool          // a goroutine is writing
	changed   chan struct{}
	waiters   int // tasks/result requests
	inputs
}

// A creation is a call in the process of becoming a task.
type creation struct {
	done chan struct{}
	err  error // set before done is closed
}

// An Outcome is the answer to a request: a result or a failure.
type Outcome struct {
	Result  json.RawMessage
	Failure *rpc.Error
}

var (
	errCancelled = errors.New("server: the client has cancelled the task")
	errEnded     = errors.New("server: the task has ended")

	// ErrNoRoom is the error for a call that cannot become a task.
	ErrNoRoom = rpc.Errorf(rpc.CodeBusy, "There is no room for another task; try again later")
)

// New returns the task that a call may become. Its handler calls [Task.Returned] at its end.
func (c Call) New() *Task {
	return &Task{Call: c, created: make(chan struct{}), changed: make(chan struct{}),
		ended: make(chan struct{})}
}

// IsTask reports whether the call has become a task. t may be nil.
func (t *Task) IsTask() bool { return t != nil && t.isTask.Load() }

// Created returns a channel that is closed when the call has become a task.
func (t *Task) Created() <-chan struct{} { return t.created }

// Initial returns the task at the moment when the call became one.
func (t *Task) Initial() mcp.Task { return t.initial }

// Outcome returns the outcome of a call that did not become a task, after its handler has returned.
func (t *Task) Outcome() Outcome { return t.outcome }

// Create turns the call into a task. If several goroutines call it, one of them creates the task,
// and the others wait for it.
func (t *Task) Create() error {
	t.Mutex.Lock()
	b, first := t.creation, false
	switch stopped := t.Stopped(); {
	case t.IsTask():
		t.Mutex.Unlock()
		return nil
	case stopped != nil:
		t.Mutex.Unlock()
		return stopped
	case t.returned:
		t.Mutex.Unlock()
		return errEnded
	case b == nil:
		b, first = &creation{done: make(chan struct{})}, true
		t.creation = b
	}
	t.Mutex.Unlock()
	if first {
		b.err = t.tryCreate()
		t.Mutex.Lock()
		t.creation = nil
		t.Mutex.Unlock()
		close(b.done)
	}
	<-b.done
	return b.err
}

// tryCreate stores the task under an unguessable id and starts it.
func (t *Task) tryCreate() error {
	all := t.Tasks
	if err := all.acquire(t.Owner, t.QuotaOwner); err != nil {
		return err
	}
	now := time.Now()
	ttl, poll := t.TTL.Milliseconds(), all.PollInterval.Milliseconds()
	t.mu.Lock()
	t.record = Record{
		Task: mcp.Task{
			TaskID: fmt.Sprintf("%011x-%s", now.UnixMilli(), rand.Text()), Status: mcp.TaskWorking,
			CreatedAt: now.UTC().Format(isoTime), LastUpdatedAt: now.UTC().Format(isoTime),
			TTLMs: &ttl, PollIntervalMs: &poll,
		},
		// the task may run for the time to live, and is then kept as long again
		Owner: t.Owner, Tool: t.Tool, Session: t.Session, Expires: now.Add(2 * t.TTL),
	}
	t.initial, t.discarded = t.record.Task, false
	t.mu.Unlock()
	err := t.save()
	switch {
	case errors.Is(err, ErrFull):
		err = ErrNoRoom
	case err != nil:
		err = t.LogError(err)
	default:
		if err = t.start(); err != nil { // no client would know the id
			t.discard()
		}
	}
	if err != nil {
		all.release(t.Owner, t.QuotaOwner)
		return err
	}
	t.Link.sending.Wait() // the response follows
	close(t.created)
	return nil
}

// start turns the call into the stored task, unless its request has ended meanwhile.
func (t *Task) start() error {
	t.Mutex.Lock()
	defer t.Mutex.Unlock()
	if stopped := t.Stopped(); stopped != nil {
		return stopped
	}
	if t.Detach != nil && !t.Detach() {
		<-t.Context.Done() // the request has ended, so its own context is about to end as well
		return context.Cause(t.Context)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.Tasks.add(t.initial.TaskID, t) {
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	}
	t.isTask.Store(true)
	t.Link.close()
	t.cleanups = append(t.cleanups, time.AfterFunc(t.TTL, t.expire).Stop)
	if t.Conn != nil {
		t.cleanups = append(t.cleanups, context.AfterFunc(t.Conn, t.abandon))
	}
	return nil
}

// handlerReturned records that the handler has returned, so that the call cannot become a task
// afterwards. It waits for a creation in progress and reports whether the call is a task.
func (t *Task) handlerReturned() bool {
	t.Mutex.Lock()
	t.returned = true
	b := t.creation
	t.Mutex.Unlock()
	if b != nil {
		<-b.done
	}
	return t.IsTask()
}

// touch records a change and signals it. t.mu must be held.
func (t *Task) touch() {
	t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	t.signalChange()
}

// signalChange wakes the goroutines that wait for a change. t.mu must be held.
func (t *Task) signalChange() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Returned ends the call with what its handler has returned. A call that has become a task then
// gives its slot back.
func (t *Task) Returned(o Outcome) {
	if !t.handlerReturned() {
		t.Link.close()
		t.Link.sending.Wait()
		t.outcome = o
		t.Cancel(errEnded)
		return
	}
	t.end(o)
	t.Tasks.release(t.Owner, t.QuotaOwner)
}

// End ends the task as cancelled, unless it has ended before, and waits until that is stored. If
// the store of the servers cannot be used, it returns an error that matches ErrUnavailable, and the
// task ends when the store can be used.
func (t *Task) End(ctx context.Context) error {
	if t.Tasks.Shared() == nil {
		t.end(Outcome{})
		return nil
	}
	go t.end(Outcome{})
	select {
	case <-t.ended:
		return nil
	case <-time.After(endTimeout):
		return ErrUnavailable
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// endTimeout is how long the end of a task waits for the store of the servers.
const endTimeout = 5 * time.Second

// end ends the task, unless it has ended before. A task with a result is completed, with a failure
// failed, with neither cancelled. end cancels the context of the handler and returns when the store
// has the final state.
func (t *Task) end(o Outcome) {
	t.mu.Lock()
	switch {
	case !t.isTask.Load():
		t.mu.Unlock()
		return
	case t.final != nil:
		t.mu.Unlock()
		<-t.ended
		return
	}
	final := t.record
	cause := final.end(o)
	t.beginEnd(&final)
	t.mu.Unlock()
	t.Cancel(cause)
	switch err := t.saveFinal(); {
	case err == nil:
	case errors.Is(err, ErrTaken), errors.Is(err, errLost):
		t.adopt(&final)
	default:
		t.Tasks.Log.Error("the outcome of a task cannot be stored", "error", err)
		why := "The result of the task could not be stored"
		if errors.Is(err, ErrTooLarge) {
			why += fmt.Sprintf(": it has %d bytes, which is too large", len(final.Task.Result))
		}
		t.mu.Lock()
		final.Task.Result = nil
		final.setFailed(rpc.Errorf(rpc.CodeInternalError, "%s", why))
		t.mu.Unlock()
		if t.saveFinal() != nil {
			t.discard() // otherwise the task would never end
		}
	}
	t.settle()
	t.Notify(t.initial.TaskID)
}

// beginEnd makes final the state in which the task ends. t.mu must be held.
func (t *Task) beginEnd(final *Record) {
	for _, stop := range t.cleanups {
		stop()
	}
	t.final, t.open = final, nil
}

// settle shows the final state to everybody.
func (t *Task) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record = *t.final
	t.signalChange()
	t.Tasks.remove(t.initial.TaskID)
	close(t.ended)
}

// end gives a running task its final state: completed with a result, failed with a failure, and
// cancelled with neither. It returns the cause for the handler.
func (r *Record) end(o Outcome) (cause error) {
	now := &r.Task
	now.InputRequests, now.StatusMessage, now.Result = nil, "", o.Result
	cause = errEnded
	switch {
	case o.Failure != nil:
		r.setFailed(o.Failure)
		cause = o.Failure
	case o.Result != nil:
		now.Status = mcp.TaskCompleted
	default:
		now.Status, now.StatusMessage = mcp.TaskCancelled, "The client has cancelled it."
		cause = errCancelled
	}
	ttl := *now.TTLMs
	created, _ := time.Parse(isoTime, now.CreatedAt)
	kept := max(time.Since(created).Milliseconds(), 0) + ttl
	now.TTLMs, r.Expires = &kept, time.Now().Add(time.Duration(ttl)*time.Millisecond)
	now.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	return cause
}

// EndedAs returns a copy of a running task that has ended, with a failure or as cancelled.
func (r *Record) EndedAs(o Outcome) *Record {
	ended := *r
	_ = ended.end(o)
	return &ended
}

// setFailed records the error with which the task failed.
func (r *Record) setFailed(e *rpc.Error) {
	r.Task.Status, r.Task.StatusMessage = mcp.TaskFailed,
		printable.TruncateBytes(e.Message, maxStatusText)
	r.Task.Error = e
}

// expire ends a task that exceeds its time to live.
func (t *Task) expire() {
	t.end(Outcome{Failure: rpc.Errorf(rpc.CodeInternalError,
		"The task took longer than its limit of %v", t.TTL)})
}

// abandon ends a task that clients can no longer access.
func (t *Task) abandon() {
	t.end(Outcome{})
	t.discard()
}

// Report sets the status message from progress.
func (t *Task) Report(done, total float64, message string) {
	text := fmt.Sprintf("%g", done)
	if total > 0 {
		text += fmt.Sprintf(" of %g", total)
	}
	if message != "" {
		text += ": " + message
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.final == nil {
		t.record.Task.StatusMessage = printable.TruncateBytes(text, maxStatusText)
		t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
		if !t.reported && t.Tasks.Shared() != nil {
			t.reported = true
			time.AfterFunc(reportInterval, t.saveReport)
		}
	}
}

// Snapshot returns the current state of the task.
func (t *Task) Snapshot() Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}
