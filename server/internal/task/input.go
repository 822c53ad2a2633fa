package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

const (
	maxInputs      = 256     // requests of one task, including answered ones
	maxKeptAnswers = 1 << 20 // bytes of answers that are stored for a handler that runs twice
)

// inputs holds the requests of a task to its client. One goroutine waits for the response to
// each.
type inputs struct {
	open map[string]*input // by the key that the client sees
	// keys are never reused, because clients recognize requests by them
	usedKeys      map[string]bool
	answered      map[string]answeredInput
	answeredBytes int // bytes of the answers in answered
}

type input struct {
	key     string
	request mcp.InputRequest
	ctx     context.Context // ends when the answer is no longer needed
	asked   bool            // a client of 2025-11-25 is being asked
	answer  chan response   // has capacity 1
}

type response struct {
	answer json.RawMessage
	err    error
}

// An answeredInput is a response and the digest of its request. A call that must be confirmed runs
// its operation twice, with the same requests.
type answeredInput struct {
	digest []byte
	answer json.RawMessage
}

// Ask sends a request to the client and waits for the response that decode accepts. digest
// identifies the request.
func (t *Task) Ask(ctx context.Context, key string, request mcp.InputRequest, digest []byte,
	decode func(answer []byte) error) error {
	t.mu.Lock()
	kept, ok := t.answered[key]
	t.mu.Unlock()
	if ok && bytes.Equal(kept.digest, digest) && decode(kept.answer) == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.Context,
		func() { cancel(context.Cause(t.Context)) })()
	for {
		q, err := t.addInputRequest(ctx, key, request)
		if err != nil {
			return err
		}
		var got response
		select {
		case got = <-q.answer:
		case <-ctx.Done():
			if t.resolve(q.key, response{}) { // the response is no longer needed
				go t.SaveAndNotify()
			}
			return context.Cause(ctx)
		}
		if got.err != nil {
			return got.err
		}
		if err := decode(got.answer); err == nil {
			t.keepAnswer(key, answeredInput{digest, got.answer})
			return nil
		} else if !t.Modern {
			return fmt.Errorf("server: the client's answer to %s: %w", request.Method, err)
		}
	}
}

// addInputRequest adds a request to the task and stores it.
func (t *Task) addInputRequest(ctx context.Context, key string,
	request mcp.InputRequest) (*input, error) {
	q := &input{key: key, request: request, ctx: ctx, answer: make(chan response, 1)}
	t.mu.Lock()
	if t.final != nil {
		t.mu.Unlock()
		return nil, errEnded
	}
	if len(t.usedKeys) == maxInputs {
		t.mu.Unlock()
		return nil, fmt.Errorf("server: a task may ask no more than %d questions", maxInputs)
	}
	if t.open == nil {
		t.open, t.usedKeys, t.answered = map[string]*input{}, map[string]bool{},
			map[string]answeredInput{}
	}
	for n := 2; t.usedKeys[q.key]; n++ {
		q.key = fmt.Sprintf("%s#%d", key, n)
	}
	t.open[q.key], t.usedKeys[q.key] = q, true
	t.updateInputRequests()
	t.mu.Unlock()
	go func() { // on a goroutine, because the client may answer before the store does
		if err := t.saveUntil(ctx.Done()); err != nil {
			t.respond(q.key,
				response{err: fmt.Errorf(
					"server: the question %q of a task cannot be stored: %w", key, err)})
			return
		}
		t.Notify(t.initial.TaskID)
	}()
	return q, nil
}

// respond closes the request with this key, if it is open, and stores the change.
func (t *Task) respond(key string, r response) {
	if t.resolve(key, r) {
		t.SaveAndNotify()
	}
}

// Answer closes the request with this key with the client's answer, if it is open, and reports
// whether it was. The caller then calls SaveAndNotify.
func (t *Task) Answer(key string, answer json.RawMessage) bool {
	return t.resolve(key, response{answer: answer})
}

// resolve is respond without storing. It returns false if no request with this key is open.
func (t *Task) resolve(key string, r response) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.open[key]
	if q == nil {
		return false
	}
	delete(t.open, key)
	t.updateInputRequests()
	q.answer <- r // does not block: capacity 1
	return true
}

// SaveAndNotify stores a change of the requests and notifies the client. If the servers' store
// cannot be used, it does not wait until the change is stored.
func (t *Task) SaveAndNotify() {
	err := t.save()
	if errors.Is(err, ErrUnavailable) {
		go t.saveLater()
	} else if err != nil {
		t.logUnsaved(err)
	}
	t.Notify(t.initial.TaskID)
}

// saveLater stores the state of the task when the servers' store can be used again, unless the task
// has ended by then.
func (t *Task) saveLater() {
	switch err := t.saveUntil(t.Context.Done()); {
	case err == nil:
		t.Notify(t.initial.TaskID)
	case !errors.Is(err, ErrUnavailable):
		t.logUnsaved(err)
	}
}

func (t *Task) logUnsaved(err error) {
	t.Tasks.Log.Error("the state of a task cannot be stored", "error", err)
}

// updateInputRequests copies the open requests to the record. t.mu must be held.
func (t *Task) updateInputRequests() {
	now := &t.record.Task
	now.Status, now.InputRequests = mcp.TaskWorking, nil
	if len(t.open) > 0 {
		now.Status, now.InputRequests = mcp.TaskInputRequired, mcp.InputRequests{}
		for key, q := range t.open {
			now.InputRequests[key] = q.request
		}
	}
	t.touch()
}

func (t *Task) keepAnswer(key string, k answeredInput) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answeredBytes += len(k.answer) - len(t.answered[key].answer)
	t.answered[key] = k
	// the memory is held until the handler has returned
	if t.answeredBytes > maxKeptAnswers ||
		t.Retain(len(k.answer)) != nil {
		t.answeredBytes -= len(k.answer)
		delete(t.answered, key)
	}
}

// AwaitResult sends the requests of the task to a client of 2025-11-25 until the task has ended,
// and returns the final record (2025-11-25, basic/utilities/tasks, Input Required Status). ctx and
// link are those of a tasks/result request.
func (t *Task) AwaitResult(ctx context.Context, link outgoing.Link) (*Record, error) {
	if !t.addWaiter() {
		return nil, ErrTooManyWaiters
	}
	defer t.removeWaiter()
	done := make(chan struct{}) // receives a value when a goroutine has asked
	asking := 0
	defer func() {
		for ; asking > 0; asking-- {
			<-done // the context of the request or of the task has ended
		}
	}()
	for {
		t.mu.Lock()
		record, changed := t.record, t.changed
		for _, q := range t.open {
			if !q.asked {
				q.asked = true
				asking++
				go func() {
					t.callClient(ctx, link, q)
					done <- struct{}{}
				}()
			}
		}
		t.mu.Unlock()
		if record.Task.Status.Terminal() {
			return &record, nil
		}
		select {
		case <-changed:
		case <-done:
			asking--
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// callClient sends one request to the client and passes on the response.
func (t *Task) callClient(request context.Context, link outgoing.Link, q *input) {
	ctx, cancel := context.WithCancelCause(request)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(context.Cause(q.ctx)) })()
	var answer json.RawMessage
	params := WithRelatedTask(q.request.Params, t.initial.TaskID)
	err := contain.Do(func() error {
		return link.Call(ctx, q.request.Method, outgoing.Params(params), &answer)
	})
	if _, answered := errors.AsType[*rpc.Error](err); err != nil && !answered &&
		request.Err() != nil {
		// the client has disconnected and may reconnect
		t.mu.Lock()
		q.asked = false
		t.touch()
		t.mu.Unlock()
		return
	}
	t.respond(q.key, response{answer, err})
}

// MaxWaiters is the maximum number of concurrent tasks/result requests for one task.
const MaxWaiters = 8

// ErrTooManyWaiters is the error for one request more.
var ErrTooManyWaiters = rpc.Errorf(rpc.CodeBusy,
	"%d requests wait for the result of this task already", MaxWaiters)

// addWaiter counts a tasks/result request. It returns false if there are too many.
func (t *Task) addWaiter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiters == MaxWaiters {
		return false
	}
	t.waiters++
	return true
}

// removeWaiter ends the request that addWaiter has counted.
func (t *Task) removeWaiter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiters--
}
