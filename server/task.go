package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// A task is a call that continues after its request was answered, or a call that may become one.
type task struct {
	server *Server
	// the handler's request, which shares nothing with the client's request
	request    *request
	link       *taskLink
	owner      string
	quotaOwner string // the owner of its slots and memory in the quotas
	ttl        time.Duration
	cancel     context.CancelCauseFunc // cancels the handler's context
	// detaches that context from the client's request; nil: it was never attached
	detachRequest func() bool
	isTask        atomic.Bool   // the call has become a task
	createdC      chan struct{} // closed when isTask is set
	initial       mcp.Task      // the task at that moment
	// the outcome of a call that did not become a task; set when the handler has returned
	outcome  outcome
	cleanups []func() bool // called when the task ends

	returned bool      // the handler has returned; guarded by request.mu
	creation *creation // in progress; guarded by request.mu

	mu        sync.Mutex
	record    TaskRecord    // the current state; the store has it, except for status messages
	final     *TaskRecord   // the final state, until the store has it; nil: not ended
	ended     chan struct{} // closed when record is final
	discarded bool          // the store must not keep the task
	nextWrite *storeWrite   // the next write to the store; nil: none
	writing   bool          // a goroutine is writing
	changed   chan struct{}
	waiters   int // tasks/result requests
	taskInputs
}

// A creation is a call in the process of becoming a task.
type creation struct {
	done chan struct{}
	err  error // set before done is closed
}

// An outcome is the answer to a request: a result or a failure.
type outcome struct {
	result  json.RawMessage
	failure *rpc.Error
}

var (
	errTaskCancelled = errors.New("server: the client has cancelled the task")
	errTaskEnded     = errors.New("server: the task has ended")
	errTasksFull     = rpc.Errorf(rpc.CodeBusy,
		"There is no room for another task; try again later")
)

// newTask returns a task for a call. Its handler does not depend on the request.
func (r *request) newTask(ttl time.Duration) (*task, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context))
	t := &task{
		server: r.conn.server, owner: r.taskOwner(), quotaOwner: r.quotaOwner(), ttl: ttl,
		cancel: cancel, link: &taskLink{link: r.link},
		createdC: make(chan struct{}), changed: make(chan struct{}), ended: make(chan struct{}),
	}
	own := &request{
		Context: ctx, Request: &rpc.Request{ID: r.ID, Method: r.Method,
			Params: bytes.Clone(r.Params)}, conn: r.conn, link: t.link, era: r.era, task: t,
	}
	t.request = own
	if own.account().Take(countedBytes(len(r.Params)+len(r.ID.String()))) != nil { // closed by run
		own.close()
		cancel(nil)
		return nil, errTasksFull
	}
	err := own.read()
	if err == nil && own.era.modern {
		own.era, err = modernEra(&own.meta) // a copy, because an era has slices of the params
	}
	if err != nil {
		own.close()
		cancel(err)
		return nil, err
	}
	if own.meta.progressToken != nil {
		own.progress = &progress{ctx: own, link: t.link, token: own.meta.progressToken}
	}
	return t, nil
}

// created reports whether the call has become a task. t may be nil.
func (t *task) created() bool { return t != nil && t.isTask.Load() }

// create turns the call into a task. If several goroutines call it, one of them creates the task,
// and the others wait for it.
func (t *task) create() error {
	t.request.mu.Lock()
	b, first := t.creation, false
	switch stopped := t.request.mrtr().stopErr; {
	case t.created():
		t.request.mu.Unlock()
		return nil
	case stopped != nil:
		t.request.mu.Unlock()
		return stopped
	case t.returned:
		t.request.mu.Unlock()
		return errTaskEnded
	case b == nil:
		b, first = &creation{done: make(chan struct{})}, true
		t.creation = b
	}
	t.request.mu.Unlock()
	if first {
		b.err = t.tryCreate()
		t.request.mu.Lock()
		t.creation = nil
		t.request.mu.Unlock()
		close(b.done)
	}
	<-b.done
	return b.err
}

// tryCreate stores the task under an unguessable id and starts it.
func (t *task) tryCreate() error {
	all := &t.server.tasks
	if err := all.acquire(t.owner, t.quotaOwner); err != nil {
		return err
	}
	now := time.Now()
	ttl, poll := t.ttl.Milliseconds(), all.PollInterval.Milliseconds()
	t.mu.Lock()
	t.record = TaskRecord{
		Task: mcp.Task{
			TaskID: fmt.Sprintf("%011x-%s", now.UnixMilli(), rand.Text()), Status: mcp.TaskWorking,
			CreatedAt: now.UTC().Format(isoTime), LastUpdatedAt: now.UTC().Format(isoTime),
			TTLMs: &ttl, PollIntervalMs: &poll,
		},
		// the task may run for the time to live, and is then kept as long again
		Owner: t.owner, Expires: now.Add(2 * t.ttl),
	}
	t.initial, t.discarded = t.record.Task, false
	t.mu.Unlock()
	err := t.save()
	switch {
	case errors.Is(err, ErrTasksFull):
		err = errTasksFull
	case err != nil:
		err = t.request.logError(err)
	default:
		if err = t.start(); err != nil { // no client would know the id
			t.discard()
		}
	}
	if err != nil {
		all.release(t.owner, t.quotaOwner)
		return err
	}
	t.link.sending.Wait() // the response follows
	close(t.createdC)
	return nil
}

// start turns the call into the stored task, unless its request has ended meanwhile.
func (t *task) start() error {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	if stopped := t.request.mrtr().stopErr; stopped != nil {
		return stopped
	}
	if t.detachRequest != nil && !t.detachRequest() {
		<-t.request.Done() // the request has ended, so its own context is about to end as well
		return context.Cause(t.request)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.server.tasks.add(t.initial.TaskID, t) {
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	}
	t.isTask.Store(true)
	t.link.close()
	t.cleanups = append(t.cleanups, time.AfterFunc(t.ttl, t.expire).Stop)
	if strings.HasPrefix(t.owner, ownerSession) {
		t.cleanups = append(t.cleanups, context.AfterFunc(t.request.conn.ctx, t.abandon))
	}
	return nil
}

// handlerReturned records that the handler has returned, so that the call cannot become a task
// afterwards. It waits for a creation in progress and reports whether the call is a task.
func (t *task) handlerReturned() bool {
	t.request.mu.Lock()
	t.returned = true
	b := t.creation
	t.request.mu.Unlock()
	if b != nil {
		<-b.done
	}
	return t.created()
}

// touch records a change and signals it. t.mu must be held.
func (t *task) touch() {
	t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	t.signalChange()
}

// signalChange wakes the goroutines that wait for a change. t.mu must be held.
func (t *task) signalChange() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// notifyStatus notifies the client of the task's status.
func (t *task) notifyStatus() {
	if t.request.era.modern {
		t.server.notifyChange(changeNotification{mcp.NotificationTask, t.initial.TaskID})
	} else {
		t.request.conn.notifyChange(
			changeNotification{mcp.NotificationTaskStatus, t.initial.TaskID})
	}
}

// run runs the handler on a goroutine of its own.
func (t *task) run(handle func(*request) (*Result, error)) {
	o := outcome{failure: rpc.ErrInternal.(*rpc.Error)}
	defer t.request.close()
	defer func() {
		if t.request.progress != nil {
			t.request.progress.end()
		}
		if !t.handlerReturned() {
			t.link.close()
			t.link.sending.Wait()
			t.outcome = o
			t.cancel(errTaskEnded)
			return
		}
		t.end(o)
		t.server.tasks.release(t.owner, t.quotaOwner)
	}()
	text, err := rpc.AppendResponse(t.request, nil,
		func(context.Context, *rpc.Request) (any, error) {
			return handle(t.request)
		}, t.request.Request)
	if p, ok := errors.AsType[*rpc.PanicError](err); ok {
		t.server.hooks().Safe().Panic(p.Method, p.Value, p.Stack)
	}
	if m, err := rpc.ParseMessage(text); err != nil {
		_ = t.request.logError(err) // the client gets an internal error
	} else {
		o = outcome{m.Result, m.Error}
	}
}

// end ends the task, unless it has ended before. A task with a result is completed, with a failure
// failed, with neither cancelled. end cancels the context of the handler and returns when the store
// has the final state.
func (t *task) end(o outcome) {
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
	for _, stop := range t.cleanups {
		stop()
	}
	final := t.record
	t.final, t.open = &final, nil
	now := &final.Task
	now.InputRequests, now.StatusMessage, now.Result = nil, "", o.result
	cause := errTaskEnded
	switch {
	case o.failure != nil:
		final.setFailed(o.failure)
		cause = o.failure
	case o.result != nil:
		now.Status = mcp.TaskCompleted
	default:
		now.Status, now.StatusMessage = mcp.TaskCancelled, "The client has cancelled it."
		cause = errTaskCancelled
	}
	created, _ := time.Parse(isoTime, now.CreatedAt)
	kept := time.Since(created).Milliseconds() + t.ttl.Milliseconds()
	now.TTLMs, final.Expires = &kept, time.Now().Add(t.ttl)
	now.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	t.mu.Unlock()
	t.cancel(cause)
	if err := t.save(); err != nil {
		t.server.log.Error("the outcome of a task cannot be stored", "error", err)
		t.mu.Lock()
		now.Result = nil
		final.setFailed(
			rpc.Errorf(rpc.CodeInternalError, "The result of the task could not be stored"))
		t.mu.Unlock()
		if t.save() != nil {
			t.discard() // otherwise the task would never end
		}
	}
	t.mu.Lock()
	t.record = final
	t.signalChange()
	t.server.tasks.remove(now.TaskID)
	close(t.ended)
	t.mu.Unlock()
	t.notifyStatus()
}

// setFailed records the error with which the task failed.
func (r *TaskRecord) setFailed(e *rpc.Error) {
	r.Task.Status, r.Task.StatusMessage = mcp.TaskFailed,
		printable.TruncateBytes(e.Message, maxStatusText)
	r.Task.Error = &mcp.ErrorObject{Code: int64(e.Code), Message: e.Message, Data: e.Data}
}

// expire ends a task that exceeds its time to live.
func (t *task) expire() {
	t.end(outcome{failure: rpc.Errorf(rpc.CodeInternalError,
		"The task took longer than its limit of %v", t.ttl)})
}

// abandon ends a task that clients can no longer access.
func (t *task) abandon() {
	t.end(outcome{})
	t.discard()
}

// report sets the status message from progress.
func (t *task) report(done, total float64, message string) {
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
	}
}

// snapshot returns the current state of the task.
func (t *task) snapshot() TaskRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}
