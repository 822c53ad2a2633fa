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

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	storeWaits    = 10 * time.Second
	maxStatusText = 1000 // bytes
	isoTime       = "2006-01-02T15:04:05.000Z07:00"
)

// A task is a call that goes on when its request has been answered, or one that may come to.
type task struct {
	server   *Server
	request  *request // what the handler runs for: no part of it belongs to the request that came in
	link     *leash
	owner    string
	ttl      time.Duration
	cancel   context.CancelCauseFunc // the handler's context
	leave    func() bool             // the request that came in does not end it any more; nil: it never did
	on       atomic.Bool             // it is a task by now
	onset    chan struct{}           // closed when it has become one
	seed     mcp.Task                // what it was then
	answered outcome                 // what came of a call that did not become one, when the handler has returned
	stop     []func() bool           // what is not to happen any more when the task has ended

	mu      sync.Mutex
	record  TaskRecord // as it is now; the store has it but for status messages
	changed chan struct{}
	waiting int // tasks/result
	questions
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
		server: r.conn.server, owner: r.taskOwner(), ttl: ttl, cancel: cancel, link: &leash{link: r.link},
		onset: make(chan struct{}), changed: make(chan struct{}),
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

// begin makes the call a task. Who has asked the client meanwhile, in another goroutine, has done so before it is one, or asks as a task does.
func (t *task) begin() error {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	switch stopped := t.request.exchange().stopped; {
	case t.begun():
		return nil
	case stopped != nil:
		return stopped
	}
	all := &t.server.tasks
	if err := all.admit(t.owner); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.create(); err != nil {
		all.forget(t.record.Task.TaskID)
		all.leave(t.owner)
		return err
	}
	t.on.Store(true)
	t.link.cut()
	t.stop = append(t.stop, time.AfterFunc(t.ttl, t.expire).Stop)
	if strings.HasPrefix(t.owner, ownerSession) {
		t.stop = append(t.stop, context.AfterFunc(t.request.conn.ctx, t.abandon))
	}
	close(t.onset)
	return nil
}

// create has the task stored, under an id that nobody can guess. With mu.
func (t *task) create() error {
	now := time.Now()
	ttl, poll := t.ttl.Milliseconds(), t.server.tasks.PollInterval.Milliseconds()
	t.record = TaskRecord{
		Task: mcp.Task{
			TaskID: fmt.Sprintf("%011x-%s", now.UnixMilli(), rand.Text()), Status: mcp.TaskWorking,
			CreatedAt: now.UTC().Format(isoTime), LastUpdatedAt: now.UTC().Format(isoTime), TTLMs: &ttl, PollIntervalMs: &poll,
		},
		Owner: t.owner, Expires: now.Add(2 * t.ttl), // it may take that long, and then is kept that long
	}
	t.seed = t.record.Task
	if !t.server.tasks.enter(t.record.Task.TaskID, t) {
		return rpc.Errorf(rpc.CodeBusy, "The server is shutting down")
	}
	if err := t.put(); errors.Is(err, ErrTasksFull) {
		return rpc.Errorf(rpc.CodeBusy, "There is no room for another task; try again later")
	} else if err != nil {
		return t.request.broken(err)
	}
	if t.leave != nil && !t.leave() { // nobody would learn of it
		t.discard()
		<-t.request.Done() // what ended the request is about to end this
		return context.Cause(t.request)
	}
	return nil
}

// put stores the task as it is. With mu.
func (t *task) put() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.request), storeWaits)
	defer cancel()
	record := t.record // the store's own from now on
	return t.server.tasks.Store.Put(ctx, &record)
}

// discard takes the task out of the store. With mu.
func (t *task) discard() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.request), storeWaits)
	defer cancel()
	if err := t.server.tasks.Store.Delete(ctx, t.record.Task.TaskID); err != nil {
		t.server.log.Error("a task cannot be taken out of its store", "error", err)
	}
}

// touch notes a change, and wakes who waits for one. With mu.
func (t *task) touch() {
	t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	close(t.changed)
	t.changed = make(chan struct{})
}

// tell has the client told that the task's status has changed.
func (t *task) tell() {
	if t.request.era.modern {
		t.server.announce(news{mcp.NotificationTask, t.record.Task.TaskID})
	} else {
		t.request.conn.hear(news{mcp.NotificationTaskStatus, t.record.Task.TaskID})
	}
}

// run runs the handler, whatever it does to its goroutine.
func (t *task) run(handle func(*request) (any, error)) {
	came := outcome{failure: rpc.ErrInternal.(*rpc.Error)}
	defer func() {
		if t.request.progress != nil {
			t.request.progress.end()
		}
		if !t.begun() {
			t.link.cut()
			t.answered = came
			t.cancel(errTaskEnded)
			return
		}
		t.settle(came)
		t.server.tasks.leave(t.owner)
	}()
	text, err := rpc.Answer(t.request, nil, func(context.Context, *rpc.Request) (any, error) { return handle(t.request) }, t.request.Request)
	if p, ok := errors.AsType[*rpc.PanicError](err); ok {
		t.server.hooks().Panic(p.Method, p.Value, p.Stack)
	}
	if m, err := rpc.ParseMessage(text); err != nil {
		_ = t.request.broken(err) // it is told as an internal error
	} else {
		came = outcome{m.Result, m.Error}
	}
}

// settle ends the task, unless it has ended: completed with a result, failed with an error, or cancelled with neither. Its handler's context ends.
func (t *task) settle(came outcome) {
	t.mu.Lock()
	now := &t.record.Task
	if !t.on.Load() || now.Status.Terminal() {
		t.mu.Unlock()
		return
	}
	for _, stop := range t.stop {
		stop()
	}
	now.InputRequests, now.StatusMessage, now.Result = nil, "", came.result
	t.open = nil
	cause := errTaskEnded
	switch {
	case came.failure != nil:
		t.fail(came.failure)
		cause = came.failure
	case came.result != nil:
		now.Status = mcp.TaskCompleted
	default:
		now.Status, now.StatusMessage = mcp.TaskCancelled, "The client has cancelled it."
		cause = errTaskCancelled
	}
	created, _ := time.Parse(isoTime, now.CreatedAt)
	kept := time.Since(created).Milliseconds() + t.ttl.Milliseconds()
	now.TTLMs, t.record.Expires = &kept, time.Now().Add(t.ttl)
	t.touch()
	err := t.put()
	if err != nil {
		t.server.log.Error("what came of a task cannot be stored", "error", err)
		now.Result = nil
		t.fail(rpc.Errorf(rpc.CodeInternalError, "What came of the task could not be kept"))
		if err = t.put(); err != nil {
			t.discard() // better than one that never ends
		}
	}
	t.mu.Unlock()
	t.cancel(cause)
	t.server.tasks.forget(now.TaskID)
	t.tell()
}

// fail notes with which error the task has failed. With mu.
func (t *task) fail(e *rpc.Error) {
	t.record.Task.Status, t.record.Task.StatusMessage = mcp.TaskFailed, cut(e.Message)
	t.record.Task.Error = &mcp.ErrorObject{Code: int64(e.Code), Message: e.Message, Data: e.Data}
}

// expire ends a task that takes too long.
func (t *task) expire() {
	t.settle(outcome{failure: rpc.Errorf(rpc.CodeInternalError, "The task took longer than the %v it may", t.ttl)})
}

// abandon ends a task that nobody can ask for any more.
func (t *task) abandon() {
	t.settle(outcome{})
	t.mu.Lock()
	defer t.mu.Unlock()
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
	if !t.record.Task.Status.Terminal() {
		t.record.Task.StatusMessage = cut(text)
		t.record.Task.LastUpdatedAt = time.Now().UTC().Format(isoTime)
	}
}

// cut shortens a text for people.
func cut(text string) string {
	if len(text) > maxStatusText {
		text = strings.ToValidUTF8(text[:maxStatusText], "") + "…"
	}
	return text
}

// now is the task as it is, also if it has ended.
func (t *task) now() TaskRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record
}

// A leash is a request's link, for as long as the request has no answer. Then what is sent along it is dropped.
type leash struct {
	mu   sync.RWMutex
	link Link
}

func (l *leash) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link = nil
}

func (l *leash) Notify(ctx context.Context, method string, params any) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.link == nil {
		return nil
	}
	return l.link.Notify(ctx, method, params)
}

// Call is for nobody: who calls clients has a task from the start, which asks when the client comes for the result.
func (l *leash) Call(context.Context, string, any, any) error { return errTaskEnded }
