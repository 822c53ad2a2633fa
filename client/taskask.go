package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxTaskQuestions is how many questions of one task are answered.
const maxTaskQuestions = 256

// A reject is a tasks/update that the server has refused.
type rejectedUpdate struct {
	answers mcp.InputResponses
	err     *rpc.Error
}

// note takes note that a question is answered, or being answered. It is not if it was noted before, nor if there were too many: then full is true.
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

// forget has a question asked again if it comes again. It has counted all the same.
func (t *Task) unmarkAsked(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.asked, sha256.Sum256([]byte(key)))
}

// ask has the callbacks answer what the task asks, each question once (tasks extension, "Task Update Requests").
func (f *taskWaiter) answerInput() error {
	for key, q := range f.latest.InputRequests {
		if !f.t.wasAsked(key) && (f.r.byHand || f.c.inputHandlers[q.Method] == nil) {
			return f.inputRequiredError()
		}
	}
	for key, q := range f.latest.InputRequests {
		f.mu.Lock()
		busy := len(f.open) == maxAsking
		f.mu.Unlock()
		if busy {
			return nil // the rest when one of them is answered
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

// unanswered is the error of a task that asks what nobody here answers.
func (f *taskWaiter) inputRequiredError() *InputRequiredError {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := maps.Clone(f.latest.InputRequests)
	maps.DeleteFunc(left, func(key string, _ mcp.InputRequest) bool { return f.open[key] == nil && f.t.wasAsked(key) })
	return &InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: left}, Raw: f.raw, Task: f.t}
}

// consult has one question answered.
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

// withdraw takes back the questions that the task does not ask any more.
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

// send sends what is answered. One answer does not wait for another.
func (f *taskWaiter) send() error {
	f.mu.Lock()
	answers := f.answers
	f.answers = make(mcp.InputResponses)
	f.mu.Unlock()
	if len(answers) == 0 {
		return nil
	}
	err := f.request(mcp.MethodUpdateTask, mcp.UpdateTaskParams{TaskID: f.t.id, InputResponses: answers}, f.patience(), ignore)
	if err == nil {
		f.updates++
		f.extendTimeout()
		return nil
	}
	if refusal, refused := errors.AsType[*rpc.Error](err); refused && refusal.Code == rpc.CodeInvalidParams {
		// Of the answers, or of a task that has ended meanwhile: that is to be seen.
		f.rejected, f.next = &rejectedUpdate{answers, refusal}, time.Now()
		return nil
	}
	f.mu.Lock()
	maps.Copy(f.answers, answers)
	f.mu.Unlock()
	return f.retryOrFail(err)
}

// unheard returns why the server has refused answers, if it still waits for them.
func (f *taskWaiter) rejectedError() error {
	rejected := f.rejected
	f.rejected = nil
	if rejected == nil {
		return nil
	}
	for key := range rejected.answers {
		if _, still := f.latest.InputRequests[key]; still {
			return &textError{"the server refuses what it was answered: " + rejected.err.Error(), rejected.err}
		}
	}
	return nil
}
