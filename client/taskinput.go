package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxTaskQuestions is the number of input requests of one task that are answered.
const maxTaskQuestions = 256

// A rejectedUpdate is a tasks/update that the server has rejected.
type rejectedUpdate struct {
	answers mcp.InputResponses
	err     *rpc.Error
}

// markAsked marks an input request as being answered. It returns false if it was marked before or
// the limit is reached; full is true in the second case.
func (t *Task) markAsked(key string) (noted, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := sha256.Sum256([]byte(key))
	if t.asked[sum] || t.count == maxTaskQuestions {
		return false, !t.asked[sum]
	}
	if t.asked == nil {
		t.asked = make(map[[sha256.Size]byte]bool)
	}
	t.asked[sum] = true
	t.count++
	return true, false
}

func (t *Task) wasAsked(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[sha256.Sum256([]byte(key))]
}

// unmarkAsked allows an input request to be answered again. It still counts.
func (t *Task) unmarkAsked(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.asked, sha256.Sum256([]byte(key)))
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
			return &RoundsError{Rounds: f.updates, Last: f.inputRequiredError()}
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
				f.signal()
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

// send sends the available input responses. It does not wait for the others.
func (f *taskWaiter) send() error {
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
