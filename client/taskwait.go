package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxPollFailures      = 3                // looks at a task in a row that come to nothing
	pollTimeout = 30 * time.Second // for one of them
)

// A following is one wait for the end of a task. One goroutine looks at the task from time to time and sends answers; others are in callbacks, or wait for
// tasks/result.
type taskWaiter struct {
	c *Client
	t *Task
	r *call // on behalf of which: its time, its progress, its result

	ctx    context.Context // of the others
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // capacity 1: they have something

	next     time.Time // to look at the task
	reportedState     mcp.Task  // the state that the call's OnTask has heard of; zero for none
	pollFailures     int       // looks in a row that came to nothing
	latest   mcp.Task
	raw      []byte     // latest as the server wrote it, if the task asks something
	updates  int        // that the server has taken
	rejected *rejectedUpdate    // one that it has not
	fetching bool       // tasks/result is under way
	refused  int        // times that it was refused though the task had not ended
	refusal  *rpc.Error // the last one, until the task was looked at

	mu      sync.Mutex
	open    map[string]context.CancelFunc // questions that callbacks are about to answer, by key: takes them back
	answers mcp.InputResponses            // to be sent
	failed  *QuestionError                // the first that was not answered
	fetched *taskResult                      // what came of tasks/result, until that was looked at
}

type taskResult struct {
	result json.RawMessage
	err    error
}

// waitTask waits for the end of a task on behalf of a call.
func (c *Client) waitTask(ctx context.Context, r *call, t *Task) error {
	f := &taskWaiter{c: c, t: t, r: r, wake: make(chan struct{}, 1), open: make(map[string]context.CancelFunc), answers: make(mcp.InputResponses)}
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

// tell tells the caller of the task's state, if it looks different.
func (f *taskWaiter) reportState(now mcp.Task) {
	if f.r.onTask == nil || now.Status == f.reportedState.Status && now.StatusMessage == f.reportedState.StatusMessage {
		return
	}
	f.reportedState = now
	f.r.onTask(now)
}

// end leaves nothing behind. Questions whose answers have not reached the server may be asked again.
func (f *taskWaiter) end() {
	f.cancel()
	f.wg.Wait()
	for key := range f.answers {
		f.t.unmarkAsked(key)
	}
}

// signal wakes the goroutine that looks.
func (f *taskWaiter) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// step waits until there is something to do, and does it.
func (f *taskWaiter) step() error {
	if _, reason := f.c.waitCall(f.ctx, f.r, f.wake, max(0, time.Until(f.next))); reason != nil {
		return f.waitError(reason)
	}
	f.mu.Lock()
	failed, came := f.failed, f.fetched
	f.fetched = nil
	f.mu.Unlock()
	if failed != nil {
		return failed
	}
	if came != nil {
		return f.takeResult(came)
	}
	if f.pollFailures == 0 || f.due() {
		if err := f.send(); err != nil {
			return err
		}
	}
	if f.due() {
		return f.poll()
	}
	return f.answerInput()
}

func (f *taskWaiter) due() bool { return !time.Now().Before(f.next) }

// gaveUp says what was waited for in vain.
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
func (f *taskWaiter) request(method string, params any, expires time.Time, decode func([]byte) error) error {
	r := &call{method: method, name: f.t.id, params: params, meta: f.c.meta.Load(), extra: f.r.extra, decode: decode, startedAt: time.Now(), expires: expires}
	return f.c.sendWithRetry(f.ctx, r)
}

// patience is until when a look, or an update, may take.
func (f *taskWaiter) patience() time.Time {
	limit := time.Now().Add(pollTimeout)
	if end := f.r.expires; !end.IsZero() && end.Before(limit) {
		return end
	}
	return limit
}

// look asks how the task is.
func (f *taskWaiter) poll() error {
	var now mcp.Task
	err := f.request(mcp.MethodGetTask, mcp.TaskParams{TaskID: f.t.id}, f.patience(), func(raw []byte) (err error) {
		if now, err = f.t.decodeState(raw); err == nil && len(now.InputRequests) > 0 {
			f.raw = bytes.Clone(raw)
		}
		return err
	})
	if err != nil {
		if err = f.retryOrFail(err); err != nil && f.t.isGone() && f.refusal != nil && f.refusal.Code != rpc.CodeInvalidParams {
			return f.refusal // which is what had come of it
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

// progressed gives the call more time.
func (f *taskWaiter) extendTimeout() {
	if !f.r.expires.IsZero() {
		f.c.extend(f.r)
	}
}

// stumble returns nil if a request that has failed is to be made again: the next time, and less and less often.
func (f *taskWaiter) retryOrFail(err error) error {
	refusal, refused := errors.AsType[*rpc.Error](err)
	switch {
	case f.ctx.Err() != nil:
		return f.c.abortError(f.ctx.Err(), f.r)
	case f.c.isClosing() || f.c.isLost() || errors.Is(err, rpc.ErrProtocol) || errors.Is(err, framing.ErrTooLarge):
		return err
	case refused && refusal.Code == rpc.CodeInvalidParams:
		f.t.markGone()
		return &textError{fmt.Sprintf("the server does not know the task %.100q, or not any more: %v", f.t.id, refusal), refusal}
	case refused && (refusal.Code == rpc.CodeMethodNotFound || refusal.Code == mcp.CodeMissingRequiredClientCapability) || f.pollFailures == maxPollFailures:
		return fmt.Errorf("the task %.100q cannot be followed: %w", f.t.id, err)
	}
	f.pollFailures++
	f.next = time.Now().Add(interval(&f.latest) << f.pollFailures)
	return nil
}

// fetch asks a server of 2025-11-25 for what comes of the task, which it answers when the task has ended (2025-11-25, Tasks, "Result Retrieval"). Meanwhile it
// sends requests of its own if the task asks something, so there must be one.
func (f *taskWaiter) fetch() {
	f.fetching = true
	f.wg.Go(func() {
		var came taskResult
		came.err = f.request(mcp.MethodTaskResult, mcp.TaskParams{TaskID: f.t.id}, time.Time{}, came.result.UnmarshalJSON)
		f.mu.Lock()
		f.fetched = &came
		f.mu.Unlock()
		f.signal()
	})
}

// take takes what came of tasks/result. Why it was refused, the state of the task tells: with an error a task fails, but the request itself may have been
// refused as well.
func (f *taskWaiter) takeResult(came *taskResult) error {
	f.fetching = false
	refusal, refused := errors.AsType[*rpc.Error](came.err)
	switch {
	case came.err == nil:
		f.t.setOutcome(came.result, nil)
	case refused:
		f.refusal, f.next = refusal, time.Now()
	default:
		return f.retryOrFail(came.err)
	}
	return nil
}

// result sees to tasks/result after a look at the task.
func (f *taskWaiter) result() error {
	refusal := f.refusal
	f.refusal = nil
	switch {
	case refusal != nil && f.latest.Status.Terminal():
		f.t.setOutcome(nil, refusal) // which has no effect if it was cancelled
	case refusal != nil:
		if f.refused++; f.refused > maxPollFailures {
			return refusal
		}
	case !f.fetching:
		f.fetch()
	}
	return nil
}
