package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxQuestions   = 256     // of one task, answered ones counted
	maxKeptAnswers = 1 << 20 // bytes of answers that are kept for a handler that runs twice
)

// questions are what a task asks its client. An answer is for the one goroutine that asked.
type questions struct {
	open  map[string]*question // by the key that the client knows
	used  map[string]bool      // such keys: none is used again, since clients tell by it what they have seen
	kept  map[string]keptAnswer
	bytes int // of them
}

type question struct {
	key     string
	request mcp.InputRequest
	ctx     context.Context // ends when nobody wants to know any more
	asked   bool            // a client of 2025-11-25 is being asked
	answer  chan reply      // takes one
}

type reply struct {
	answer json.RawMessage
	err    error
}

// A keptAnswer is what was answered, and the digest of the question. Where a call has to be confirmed, its operation runs twice, and asks the same.
type keptAnswer struct {
	digest []byte
	answer json.RawMessage
}

// ask asks the client, and blocks until it has answered. It is [exchange.ask] for a task.
func (t *task) ask(ctx context.Context, key string, request mcp.InputRequest, digest []byte, valid func(answer []byte) error) (json.RawMessage, error) {
	t.mu.Lock()
	kept, ok := t.kept[key]
	t.mu.Unlock()
	if ok && bytes.Equal(kept.digest, digest) && valid(kept.answer) == nil {
		return kept.answer, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.request.Context, func() { cancel(context.Cause(t.request.Context)) })()
	for {
		q, err := t.pose(ctx, key, request)
		if err != nil {
			return nil, err
		}
		var got reply
		select {
		case got = <-q.answer:
		case <-ctx.Done():
			if t.shut(q.key, reply{}) { // is not wanted any more
				go t.store()
			}
			return nil, context.Cause(ctx)
		}
		if got.err != nil {
			return nil, got.err
		}
		if err := valid(got.answer); err == nil {
			t.keep(key, keptAnswer{digest, got.answer})
			return got.answer, nil
		} else if !t.request.era.modern {
			return nil, fmt.Errorf("server: the client's answer to %s: %w", request.Method, err)
		}
	}
}

// pose opens a question.
func (t *task) pose(ctx context.Context, key string, request mcp.InputRequest) (*question, error) {
	q := &question{key: key, request: request, ctx: ctx, answer: make(chan reply, 1)}
	t.mu.Lock()
	if t.final != nil {
		t.mu.Unlock()
		return nil, errTaskEnded
	}
	if len(t.used) == maxQuestions {
		t.mu.Unlock()
		return nil, fmt.Errorf("server: a task may ask no more than %d questions", maxQuestions)
	}
	if t.open == nil {
		t.open, t.used, t.kept = map[string]*question{}, map[string]bool{}, map[string]keptAnswer{}
	}
	for n := 2; t.used[q.key]; n++ {
		q.key = fmt.Sprintf("%s#%d", key, n)
	}
	t.open[q.key], t.used[q.key] = q, true
	t.requestInput()
	t.mu.Unlock()
	go func() { // the client may answer before the store does
		if err := t.put(); err != nil {
			t.answer(q.key, reply{err: fmt.Errorf("server: the question %q of a task cannot be stored: %w", key, err)})
			return
		}
		t.tell()
	}()
	return q, nil
}

// answer closes a question, unless there is no such question open.
func (t *task) answer(key string, r reply) {
	if t.shut(key, r) {
		t.store()
	}
}

// shut is answer, and leaves it to the caller to store it; false: there is no such question open.
func (t *task) shut(key string, r reply) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.open[key]
	if q == nil {
		return false
	}
	delete(t.open, key)
	t.requestInput()
	q.answer <- r // has room
	return true
}

// store has a change of the questions stored and told.
func (t *task) store() {
	if err := t.put(); err != nil {
		t.server.log.Error("the state of a task cannot be stored", "error", err)
	}
	t.tell()
}

// requestInput makes the record say what is asked. With mu.
func (t *task) requestInput() {
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

func (t *task) keep(key string, k keptAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += len(k.answer) - len(t.kept[key].answer)
	if t.kept[key] = k; t.bytes > maxKeptAnswers {
		t.bytes -= len(k.answer)
		delete(t.kept, key)
	}
}

// result asks a client of 2025-11-25 what there is to be asked, until the task has ended, and returns what came of it (2025-11-25, basic/utilities/tasks,
// Input Required Status).
func (t *task) result(r *request) (TaskRecord, error) {
	done := make(chan struct{}) // by who asks
	asking := 0
	defer func() {
		for ; asking > 0; asking-- {
			<-done // their contexts have ended: the request's, or the task's
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
					t.callClient(r, q)
					done <- struct{}{}
				}()
			}
		}
		t.mu.Unlock()
		if record.Task.Status.Terminal() {
			return record, nil
		}
		select {
		case <-changed:
		case <-done:
			asking--
		case <-r.Done():
			return record, context.Cause(r)
		}
	}
}

// callClient asks one question.
func (t *task) callClient(r *request, q *question) {
	ctx, cancel := context.WithCancelCause(r)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(context.Cause(q.ctx)) })()
	var answer json.RawMessage
	params := withMeta(q.request.Params, mcp.MetaRelatedTask, relatedTask(t.seed.TaskID))
	err := contain.Do(func() error { return r.link.Call(ctx, q.request.Method, encoded(params), &answer) })
	if _, answered := errors.AsType[*rpc.Error](err); err != nil && !answered && r.Err() != nil { // who was asked is gone, and may come back
		t.mu.Lock()
		q.asked = false
		t.touch()
		t.mu.Unlock()
		return
	}
	t.answer(q.key, reply{answer, err})
}
