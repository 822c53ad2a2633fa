package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxPollFailures = 3                // consecutive failed polls
	pollTimeout     = 30 * time.Second // for one poll
)

// A taskWaiter is one wait for the end of a task. One goroutine polls and sends input responses;
// others run callbacks or wait for tasks/result.
type taskWaiter struct {
	c *Client
	t *Task
	r *call // the call that provides the deadline, progress and decoding

	ctx    context.Context // of the other goroutines
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // capacity 1: another goroutine has finished

	next          time.Time // time of the next poll
	reportedState mcp.Task  // the last state passed to onTask; zero for none
	pollFailures  int       // consecutive failed polls
	latest        mcp.Task
	raw           []byte          // latest as the server wrote it, if it has input requests
	updates       int             // accepted by the server
	rejected      *rejectedUpdate // an update that the server rejected
	fetching      bool            // tasks/result is in flight
	refused       int             // number of its errors before the task ended
	refusal       *rpc.Error      // the last such error, until the next poll

	mu      sync.Mutex
	open    map[string]context.CancelFunc // cancels running handlers, by key
	answers mcp.InputResponses            // to be sent
	failed  *QuestionError                // the first handler that failed
	fetched *taskResult                   // the outcome of tasks/result, until processed
}

type taskResult struct {
	result json.RawMessage
	err    error
}

// waitTask waits for the end of a task on behalf of a call.
func (c *Client) waitTask(ctx context.Context, r *call, t *Task) error {
	f := &taskWaiter{c: c, t: t, r: r, wake: make(chan struct{}, 1),
		open: make(map[string]context.CancelFunc), answers: make(mcp.InputResponses)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	defer f.end()
	f.latest, f.next = t.lastState()
	if t.experimental() && !t.ended() {
		f.fetch()
	}
	for {
		now := t.State()
		f.reportState(now)
		if result, err, ended := outcome(&now); ended {
			if err == nil {
				err = r.take(result)
			}
			return err
		}
		if err := f.step(); err != nil {
			return err
		}
	}
}

// reportState calls OnTask if the state has changed.
func (f *taskWaiter) reportState(now mcp.Task) {
	if f.r.onTask == nil || now.Status == f.reportedState.Status &&
		now.StatusMessage == f.reportedState.StatusMessage {
		return
	}
	f.reportedState = now
	f.r.onTask(now)
}

// end waits for the other goroutines. Input requests whose responses were not sent may be answered
// again.
func (f *taskWaiter) end() {
	f.cancel()
	f.wg.Wait()
	for key := range f.answers {
		f.t.unmarkAsked(key)
	}
}

// step waits for the next event and handles it.
func (f *taskWaiter) step() error {
	if _, reason := f.c.waitCall(f.ctx, f.r, f.wake, max(0, time.Until(f.next))); reason != nil {
		return f.waitError(reason)
	}
	f.mu.Lock()
	failed, fetched := f.failed, f.fetched
	f.fetched = nil
	f.mu.Unlock()
	if failed != nil {
		return failed
	}
	if fetched != nil {
		return f.takeResult(fetched)
	}
	if f.pollFailures == 0 || f.due() {
		if err := f.sendResponses(); err != nil {
			return err
		}
	}
	if f.due() {
		return f.poll()
	}
	return f.answerInput()
}

func (f *taskWaiter) due() bool { return !time.Now().Before(f.next) }

// waitError adds the state of the task to a timeout.
func (f *taskWaiter) waitError(reason error) error {
	if timeout, ok := reason.(*TimeoutError); ok {
		text := string(f.latest.Status)
		if f.latest.StatusMessage != "" {
			text += ": " + f.latest.StatusMessage
		}
		timeout.Waiting = fmt.Sprintf("task %.100q (%.200s)", f.t.id, text)
	}
	return reason
}

// request makes one request about the task, as a part of the call.
func (f *taskWaiter) request(method string, params any, expires time.Time,
	decode func([]byte) error) error {
	return f.t.send(f.ctx, method, params, f.r.extra, expires, decode)
}

// send sends one request about the task. Its result is neither cached nor a question or a task.
func (t *Task) send(ctx context.Context, method string, params any, extra mcp.Meta,
	expires time.Time, decode func([]byte) error) error {
	r := &call{method: method, name: t.id, params: params, meta: t.c.meta.Load(), extra: extra,
		decode: decode, startedAt: time.Now(), expires: expires}
	return t.c.send(ctx, r)
}

// patience returns the deadline of a poll or an update.
func (f *taskWaiter) patience() time.Time {
	limit := time.Now().Add(pollTimeout)
	if end := f.r.expires; !end.IsZero() && end.Before(limit) {
		return end
	}
	return limit
}

// poll gets the state of the task.
func (f *taskWaiter) poll() error {
	var now mcp.Task
	err := f.request(mcp.MethodGetTask, mcp.TaskParams{TaskID: f.t.id}, f.patience(),
		func(raw []byte) (err error) {
			if now, err = f.t.decodeState(raw); err == nil && len(now.InputRequests) > 0 {
				f.raw = bytes.Clone(raw)
			}
			return err
		})
	if err != nil {
		if err = f.retryOrFail(err); err != nil && f.t.isGone() && f.refusal != nil &&
			f.refusal.Code != rpc.CodeInvalidParams {
			return f.refusal // the error of the task
		}
		return err
	}
	f.pollFailures, f.latest, f.next = 0, now, time.Now().Add(interval(&now))
	if f.t.setState(now) {
		f.extendTimeout()
	}
	if f.t.experimental() {
		return f.result()
	}
	f.cancelWithdrawn()
	if err := f.rejectedError(); err != nil {
		return err
	}
	return f.answerInput()
}

// extendTimeout extends the deadline of the call.
func (f *taskWaiter) extendTimeout() {
	if !f.r.expires.IsZero() {
		f.c.extend(f.r)
	}
}

// retryOrFail returns nil if a failed request should be repeated, with growing delays.
func (f *taskWaiter) retryOrFail(err error) error {
	refusal, refused := errors.AsType[*rpc.Error](err)
	switch {
	case f.ctx.Err() != nil:
		return f.c.abortError(f.ctx.Err(), f.r)
	case f.c.isClosing() || f.c.isLost() || errors.Is(err, rpc.ErrProtocol) ||
		errors.Is(err, framing.ErrTooLarge):
		return err
	case refused && refusal.Code == rpc.CodeInvalidParams:
		f.t.markGone()
		return errtext.Wrap(
			fmt.Sprintf("the server does not know the task %.100q, or not any more: %v", f.t.id,
				refusal), refusal)
	case refused && (refusal.Code == rpc.CodeMethodNotFound ||
		refusal.Code == mcp.CodeMissingRequiredClientCapability) ||
		f.pollFailures == maxPollFailures:
		return fmt.Errorf("the task %.100q cannot be followed: %w", f.t.id, err)
	}
	f.pollFailures++
	f.next = time.Now().Add(interval(&f.latest) << f.pollFailures)
	return nil
}

// fetch sends tasks/result to a server of 2025-11-25, which responds when the task has ended
// (2025-11-25, Tasks, "Result Retrieval"). Until then the server may send input requests only while
// this request is in flight.
func (f *taskWaiter) fetch() {
	f.fetching = true
	f.wg.Go(func() {
		var fetched taskResult
		fetched.err = f.request(mcp.MethodTaskResult, mcp.TaskParams{TaskID: f.t.id}, time.Time{},
			fetched.result.UnmarshalJSON)
		f.mu.Lock()
		f.fetched = &fetched
		f.mu.Unlock()
		wake.Up(f.wake)
	})
}

// takeResult handles the response to tasks/result. An error may be that of the task or of the
// request itself; the state of the task shows which.
func (f *taskWaiter) takeResult(fetched *taskResult) error {
	f.fetching = false
	refusal, refused := errors.AsType[*rpc.Error](fetched.err)
	switch {
	case fetched.err == nil:
		f.t.setOutcome(fetched.result, nil)
	case refused:
		f.refusal, f.next = refusal, time.Now()
	default:
		return f.retryOrFail(fetched.err)
	}
	return nil
}

// result handles tasks/result after a poll.
func (f *taskWaiter) result() error {
	refusal := f.refusal
	f.refusal = nil
	switch {
	case refusal != nil && f.latest.Status.Terminal():
		f.t.setOutcome(nil, refusal) // no effect if the task was cancelled
	case refusal != nil:
		if f.refused++; f.refused > maxPollFailures {
			return refusal
		}
	case !f.fetching:
		f.fetch()
	}
	return nil
}

// A rejectedUpdate is a tasks/update that the server has rejected.
type rejectedUpdate struct {
	answers mcp.InputResponses
	err     *rpc.Error
}

// answerInput starts the handlers of the task's input requests, once for each (tasks extension,
// "Task Update Requests").
func (f *taskWaiter) answerInput() error {
	for key, q := range f.latest.InputRequests {
		if !f.t.wasAsked(key) && (f.r.returnInput || f.c.inputHandlers[q.Method] == nil) {
			return f.inputRequiredError()
		}
	}
	for key, q := range f.latest.InputRequests {
		f.mu.Lock()
		busy := len(f.open) == maxAsking
		f.mu.Unlock()
		if busy {
			return nil // continued when a handler returns
		}
		switch noted, full := f.t.markAsked(key); {
		case full:
			return &roundsError{f.updates, f.inputRequiredError()}
		case noted:
			f.startCallback(key, q)
		}
	}
	return nil
}

// inputRequiredError returns the error of a task whose input requests have no handlers.
func (f *taskWaiter) inputRequiredError() *InputRequiredError {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := maps.Clone(f.latest.InputRequests)
	maps.DeleteFunc(left, func(key string, _ mcp.InputRequest) bool {
		return f.open[key] == nil && f.t.wasAsked(key)
	})
	return &InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: left}, Raw: f.raw,
		Task: f.t}
}

// startCallback answers one input request on a goroutine.
func (f *taskWaiter) startCallback(key string, q mcp.InputRequest) {
	ctx, cancel := context.WithCancel(f.ctx)
	f.mu.Lock()
	f.open[key] = cancel
	f.mu.Unlock()
	f.wg.Go(func() {
		var answer json.RawMessage
		err := errCallbackGoexit
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			wanted := ctx.Err() == nil
			cancel()
			switch {
			case wanted && err == nil:
				f.answers[key] = answer
			case wanted && f.failed == nil:
				f.failed = &QuestionError{Key: key, Method: q.Method, Err: err}
				fallthrough
			default:
				f.t.unmarkAsked(key)
			}
			if wanted {
				delete(f.open, key)
				wake.Up(f.wake)
			}
		}()
		answer, err = f.c.inputHandlers[q.Method](ctx, q.Params)
	})
}

// cancelWithdrawn cancels the handlers of input requests that the task no longer has.
func (f *taskWaiter) cancelWithdrawn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, cancel := range f.open {
		if _, still := f.latest.InputRequests[key]; !still {
			cancel()
			delete(f.open, key)
		}
	}
}

// sendResponses sends the available input responses. It does not wait for the others.
func (f *taskWaiter) sendResponses() error {
	f.mu.Lock()
	answers := f.answers
	f.answers = make(mcp.InputResponses)
	f.mu.Unlock()
	if len(answers) == 0 {
		return nil
	}
	err := f.request(mcp.MethodUpdateTask,
		mcp.UpdateTaskParams{TaskID: f.t.id, InputResponses: answers}, f.patience(), ignore)
	if err == nil {
		f.updates++
		f.extendTimeout()
		return nil
	}
	if refusal, refused := errors.AsType[*rpc.Error](err); refused &&
		refusal.Code == rpc.CodeInvalidParams {
		// The responses are invalid, or the task has ended: the next poll shows which.
		f.rejected, f.next = &rejectedUpdate{answers, refusal}, time.Now()
		return nil
	}
	f.mu.Lock()
	maps.Copy(f.answers, answers)
	f.mu.Unlock()
	return f.retryOrFail(err)
}

// rejectedError returns the error of a rejected update if the task still requests the same input.
func (f *taskWaiter) rejectedError() error {
	rejected := f.rejected
	f.rejected = nil
	if rejected == nil {
		return nil
	}
	for key := range rejected.answers {
		if _, still := f.latest.InputRequests[key]; still {
			return errtext.Wrap("the server rejects the answers: "+rejected.err.Error(),
				rejected.err)
		}
	}
	return nil
}

// followTask handles a call that became a task or was rejected because of tasks. If the call fails,
// it cancels a task that the caller does not know.
func (c *Client) followTask(ctx context.Context, r *call, err error) error {
	switch e := err.(type) {
	case *rpc.Error:
		return c.taskRefusalError(r, e)
	case *createdTaskError:
		if r.method != mcp.MethodCallTool {
			return errtext.Protocol("a task, although %s cannot become one", r.method)
		}
		t := &Task{c: c, id: e.task.TaskID, tool: r.tool, confirmed: true, state: e.task,
			seen: time.Now()}
		if r.started != nil {
			*r.started = t
			return nil
		}
		isKnown := false // to the caller
		defer func() {
			if !isKnown && !t.ended() && !t.isGone() {
				c.cancelAbandonedTask(t)
			}
		}()
		err = c.waitTask(ctx, r, t)
		_, isKnown = err.(*InputRequiredError)
	}
	return err
}

const (
	maxAbandoned   = 16 // tasks that are being cancelled
	abandonTimeout = 10 * time.Second
)

// cancelAbandonedTask cancels a task that nobody waits for, in the background. Beyond maxAbandoned,
// or after the end of the connection, the task is left to its time to live.
func (c *Client) cancelAbandonedTask(t *Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || c.abandoned == maxAbandoned {
		return
	}
	c.abandoned++
	c.wg.Go(func() {
		if !t.experimental() || taskCancelCapability.in(c.session.Load()) {
			_ = t.send(c.ctx, mcp.MethodCancelTask, mcp.TaskParams{TaskID: t.id}, nil,
				time.Now().Add(abandonTimeout), ignore)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.abandoned--
	})
}

// taskRefusalError explains a method-not-found error of a tool call.
func (c *Client) taskRefusalError(r *call, refusal *rpc.Error) error {
	switch {
	case refusal.Code != rpc.CodeMethodNotFound || r.method != mcp.MethodCallTool:
	case r.requestTask:
		return errtext.Wrap("the server does not run it as a task: "+refusal.Error(), refusal)
	case c.session.Load().toolTasks():
		return errtext.Wrap(
			"the server does not run it, or only as a task, for which see StartTool: "+
				refusal.Error(), refusal)
	}
	return refusal
}
