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

// A task is a call that goes on when its request has been answered, or one that may come to.
type task struct {
	server   *Server
	request  *request // what the handler runs for: no part of it belongs to the request that came in
	link     *leash
	owner    string
	holder   string // in whose name it takes its place and memory
	ttl      time.Duration
	cancel   context.CancelCauseFunc // the handler's context
	leave    func() bool             // the request that came in does not end it any more; nil: it never did
	on       atomic.Bool             // it is a task by now
	onset    chan struct{}           // closed when it has become one
	seed     mcp.Task                // what it was then
	answered outcome                 // what came of a call that did not become one, when the handler has returned
	stop     []func() bool           // what is not to happen any more when the task has ended

	over      bool       // the handler has returned; with the request's mu
	beginning *beginning // under way; with the request's mu

	mu        sync.Mutex
	record    TaskRecord    // as it is now; the store has it but for status messages
	final     *TaskRecord   // what it will be when the store has it; nil: it has not ended
	ended     chan struct{} // closed when record is final
	discarded bool          // the store is not to have it any more
	next      *put          // that is to come; nil: there is nothing to be written
	putting   bool          // a goroutine writes
	changed   chan struct{}
	waiting   int // tasks/result
	questions
}

// A beginning is a call that is being made a task.
type beginning struct {
	done chan struct{}
	err  error // when done
}

// An outcome is what a request is answered with; one of these is set.
type outcome struct {
	result  json.RawMessage
	failure *rpc.Error
}

var (
	errTaskCancelled = errors.New("server: the client has cancelled the task")
	errTaskEnded     = errors.New("server: the task has ended")
)

// detached returns a task for a call, whose handler runs apart from the request but as if it were there.
func (r *request) detached(ttl time.Duration) (*task, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context))
	t := &task{
		server: r.conn.server, owner: r.taskOwner(), holder: r.holder(), ttl: ttl, cancel: cancel, link: &leash{link: r.link},
		onset: make(chan struct{}), changed: make(chan struct{}), ended: make(chan struct{}),
	}
	own := &request{
		Context: ctx, Request: &rpc.Request{ID: r.ID, Method: r.Method, Params: bytes.Clone(r.Params)}, conn: r.conn, link: t.link, era: r.era, task: t,
	}
	t.request = own
	err := own.read()
	if err == nil && own.era.modern {
		own.era, err = modernEra(&own.meta) // it has slices of the params
	}
	if err != nil {
		cancel(err)
		return nil, err
	}
	if own.meta.progressToken != nil {
		own.progress = &progress{ctx: own, link: t.link, token: own.meta.progressToken}
	}
	return t, nil
}

// begun reports whether the call is a task by now. There may be none.
func (t *task) begun() bool { return t != nil && t.on.Load() }

// begin makes the call a task. Who has asked the client meanwhile, in another goroutine, has done
// so before it is one, or asks as a task does. Of several who begin at a time, one does, and the
// others wait for it.
func (t *task) begin() error {
	t.request.mu.Lock()
	b, first := t.beginning, false
	switch stopped := t.request.exchange().stopped; {
	case t.begun():
		t.request.mu.Unlock()
		return nil
	case stopped != nil:
		t.request.mu.Unlock()
		return stopped
	case t.over:
		t.request.mu.Unlock()
		return errTaskEnded
	case b == nil:
		b, first = &beginning{done: make(chan struct{})}, true
		t.beginning = b
	}
	t.request.mu.Unlock()
	if first {
		b.err = t.create()
		t.request.mu.Lock()
		t.beginning = nil
		t.request.mu.Unlock()
		close(b.done)
	}
	<-b.done
	return b.err
}

// create has the task stored, under an id that nobody can guess, and starts it.
func (t *task) create() error {
	all := &t.server.tasks
	if err := all.admit(t.owner, t.holder); err != nil {
		return err
	}
	now := time.Now()
	ttl, poll := t.ttl.Milliseconds(), all.PollInterval.Milliseconds()
	t.mu.Lock()
	t.record = TaskRecord{
		Task: mcp.Task{
			TaskID: fmt.Sprintf("%011x-%s", now.UnixMilli(), rand.Text()), Status: mcp.TaskWorking,
			CreatedAt: now.UTC().Format(isoTime), LastUpdatedAt: now.UTC().Format(isoTime), TTLMs: &ttl, PollIntervalMs: &poll,
		},
		Owner: t.owner, Expires: now.Add(2 * t.ttl), // it may take that long, and then is kept that long
	}
	t.seed, t.discarded = t.record.Task, false
	t.mu.Unlock()
	err := t.put()
	switch {
	case errors.Is(err, ErrTasksFull):
		err = rpc.Errorf(rpc.CodeBusy, "There is no room for another task; try again later")
	case err != nil:
		err = t.request.broken(err)
	default:
		if err = t.start(); err != nil { // nobody would learn of it
			t.discard()
		}
	}
	if err != nil {
		all.leave(t.owner, t.holder)
		return err
	}
	t.link.sending.Wait() // the answer comes next
	close(t.onset)
	return nil
}

// start makes the call the task that is in the store by now, unless something has come between.
func (t *task) start() error {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	if stopped := t.request.exchange().stopped; stopped != nil {
		return stopped
	}
	if t.leave != nil && !t.leave() {
		<-t.request.Done() // what ended the request is about to end this
		return context.Cause(t.request)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.server.tasks.enter(t.seed.TaskID, t) {
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	}
	t.on.Store(true)
	t.link.cut()
	t.stop = append(t.stop, time.AfterFunc(t.ttl, t.expire).Stop)
	if strings.HasPrefix(t.owner, ownerSession) {
		t.stop = append(t.stop, context.AfterFunc(t.request.conn.ctx, t.abandon))
	}
	return nil
}

// finish notes that the handler has returned: no task begins from now on. It waits for one that is
// about to, and reports whether the call is one.
func (t *task) finish() bool {
	t.request.mu.Lock()
	t.over = true
	b := t.beginning
	t.request.mu.Unlock()
	if b != nil {
		<-b.done
	}
	return t.begun()
}

// touch notes a change, and wakes who waits for one. With mu.
func (t *task) touch() {
	t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	t.wake()
}

// wake wakes who waits for a change. With mu.
func (t *task) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// tell has the client told that the task's status has changed.
func (t *task) tell() {
	if t.request.era.modern {
		t.server.announce(news{mcp.NotificationTask, t.seed.TaskID})
	} else {
		t.request.conn.hear(news{mcp.NotificationTaskStatus, t.seed.TaskID})
	}
}

// run runs the handler, whatever it does to its goroutine.
func (t *task) run(handle func(*request) (any, error)) {
	came := outcome{failure: rpc.ErrInternal.(*rpc.Error)}
	defer t.request.close()
	defer func() {
		if t.request.progress != nil {
			t.request.progress.end()
		}
		if !t.finish() {
			t.link.cut()
			t.link.sending.Wait()
			t.answered = came
			t.cancel(errTaskEnded)
			return
		}
		t.settle(came)
		t.server.tasks.leave(t.owner, t.holder)
	}()
	text, err := rpc.AppendResponse(t.request, nil, func(context.Context, *rpc.Request) (any, error) { return handle(t.request) }, t.request.Request)
	if p, ok := errors.AsType[*rpc.PanicError](err); ok {
		t.server.Hooks().Panic(p.Method, p.Value, p.Stack)
	}
	if m, err := rpc.ParseMessage(text); err != nil {
		_ = t.request.broken(err) // it is told as an internal error
	} else {
		came = outcome{m.Result, m.Error}
	}
}

// settle ends the task, unless it has ended: completed with a result, failed with an error, or
// cancelled with neither. Its handler's context ends. It returns when the task is one that has
// ended, for the store too.
func (t *task) settle(came outcome) {
	t.mu.Lock()
	switch {
	case !t.on.Load():
		t.mu.Unlock()
		return
	case t.final != nil:
		t.mu.Unlock()
		<-t.ended
		return
	}
	for _, stop := range t.stop {
		stop()
	}
	final := t.record
	t.final, t.open = &final, nil
	now := &final.Task
	now.InputRequests, now.StatusMessage, now.Result = nil, "", came.result
	cause := errTaskEnded
	switch {
	case came.failure != nil:
		final.fail(came.failure)
		cause = came.failure
	case came.result != nil:
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
	if err := t.put(); err != nil {
		t.server.log.Error("what came of a task cannot be stored", "error", err)
		t.mu.Lock()
		now.Result = nil
		final.fail(rpc.Errorf(rpc.CodeInternalError, "What came of the task could not be kept"))
		t.mu.Unlock()
		if t.put() != nil {
			t.discard() // better than one that never ends
		}
	}
	t.mu.Lock()
	t.record = final
	t.wake()
	t.server.tasks.forget(now.TaskID)
	close(t.ended)
	t.mu.Unlock()
	t.tell()
}

// fail notes with which error the task has failed.
func (r *TaskRecord) fail(e *rpc.Error) {
	r.Task.Status, r.Task.StatusMessage = mcp.TaskFailed, printable.TruncateBytes(e.Message, maxStatusText)
	r.Task.Error = &mcp.ErrorObject{Code: int64(e.Code), Message: e.Message, Data: e.Data}
}

// expire ends a task that takes too long.
func (t *task) expire() {
	t.settle(outcome{failure: rpc.Errorf(rpc.CodeInternalError, "The task took longer than the %v it may", t.ttl)})
}

// abandon ends a task that nobody can ask for any more.
func (t *task) abandon() {
	t.settle(outcome{})
	t.discard()
}

// report makes progress the status message.
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

// now is the task as it is, also if it has ended.
func (t *task) now() TaskRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}

// A leash is a request's link, for as long as the request has no answer. Then what is sent along it is dropped.
type leash struct {
	mu      sync.Mutex
	link    Link
	sending sync.WaitGroup
}

// cut lets nothing more be sent; what is being sent goes on, and sending counts it.
func (l *leash) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link = nil
}

func (l *leash) Notify(ctx context.Context, method string, params any) error {
	l.mu.Lock()
	link := l.link
	if link != nil {
		l.sending.Add(1)
	}
	l.mu.Unlock()
	if link == nil {
		return nil
	}
	defer l.sending.Done()
	return link.Notify(ctx, method, params)
}

// Call is for nobody: who calls clients has a task from the start, which asks when the client comes for the result.
func (l *leash) Call(context.Context, string, any, any) error { return errTaskEnded }
