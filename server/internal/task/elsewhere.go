package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// A wait has the tasks/result requests here for a task that runs on another server.
type wait struct {
	requests int
	changed  chan struct{}   // closed at the next change
	asked    map[string]bool // the questions that one of the requests asks, or has asked
}

// elsewhereInterval is how often a task that runs on another server is looked at while a request
// waits for it, in case the notice of a change was lost.
const elsewhereInterval = 2 * time.Second

// beginWait counts a tasks/result request, and returns false if there are too many.
func (all *Tasks) beginWait(id string) (*wait, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	w := all.elsewhere[id]
	if w == nil {
		w = &wait{changed: make(chan struct{}), asked: map[string]bool{}}
		if all.elsewhere == nil {
			all.elsewhere = map[string]*wait{}
		}
		all.elsewhere[id] = w
	}
	if w.requests == MaxWaiters {
		return nil, false
	}
	w.requests++
	return w, true
}

func (all *Tasks) endWait(id string, w *wait) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if w.requests--; w.requests == 0 {
		delete(all.elsewhere, id)
	}
}

// ChangedElsewhere wakes the requests that wait for a task of another server.
func (all *Tasks) ChangedElsewhere(id string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if w := all.elsewhere[id]; w != nil {
		w.wake()
	}
}

// wake wakes the requests. The caller holds the lock of the tasks.
func (w *wait) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// claim reports whether a request is the one that asks a question.
func (all *Tasks) claim(w *wait, key string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if w.asked[key] {
		return false
	}
	w.asked[key] = true
	return true
}

// unclaim leaves a question to another request.
func (all *Tasks) unclaim(w *wait, key string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(w.asked, key)
	w.wake()
}

// AwaitElsewhere is [Task.AwaitResult] for a task that runs on another server. The record is nil if
// the task no longer exists. While the store cannot be used, it waits.
func (all *Tasks) AwaitElsewhere(ctx context.Context, link outgoing.Link, id string) (*Record,
	error) {
	w, ok := all.beginWait(id)
	if !ok {
		return nil, ErrTooManyWaiters
	}
	defer all.endWait(id, w)
	asked := map[string]context.CancelFunc{} // by the key of the question
	done := make(chan struct{})
	asking := 0
	defer func() {
		for _, cancel := range asked {
			cancel()
		}
		for ; asking > 0; asking-- {
			<-done
		}
	}()
	timer := time.NewTicker(elsewhereInterval)
	defer timer.Stop()
	for {
		all.mu.Lock()
		changed := w.changed
		all.mu.Unlock()
		_, record, err := all.Find(ctx, id)
		switch {
		case err != nil && !errors.Is(err, ErrUnavailable):
			return nil, err
		case err != nil:
		case record == nil || record.Task.Status.Terminal():
			return record, nil
		default:
			open := record.Task.InputRequests
			for key, cancel := range asked {
				if _, ok := open[key]; !ok {
					cancel()
				}
			}
			for key, q := range open {
				if !all.claim(w, key) {
					continue
				}
				questionCtx, cancel := context.WithCancel(ctx)
				asked[key] = cancel
				asking++
				go func() {
					if !all.askElsewhere(questionCtx, link, id, key, q) {
						all.unclaim(w, key)
					}
					done <- struct{}{}
				}()
			}
		}
		select {
		case <-changed:
		case <-timer.C:
		case <-done:
			asking--
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errAnswerTooLarge takes the place of an answer that has no room, so that the handler hears of it.
var errAnswerTooLarge = rpc.Errorf(rpc.CodeInternalError,
	"The client's answer has no room in the store of the servers")

// askElsewhere sends a question of a task to the client, and the answer to the server on which the
// task runs. It ends with ctx, and reports false if another request may ask.
func (all *Tasks) askElsewhere(ctx context.Context, link outgoing.Link, id, key string,
	q mcp.InputRequest) (answered bool) {
	var answer json.RawMessage
	err := contain.Do(func() error {
		return link.Call(ctx, q.Method, outgoing.Params(WithRelatedTask(q.Params, id)), &answer)
	})
	failure, refused := errors.AsType[*rpc.Error](err)
	switch {
	case err != nil && ctx.Err() != nil && !refused:
		return false // the client has disconnected and may reconnect, or the question is closed
	case err != nil && !refused:
		failure = rpc.Errorf(rpc.CodeInternalError, "the client could not be asked")
	}
	for ctx.Err() == nil {
		err := all.Shared().Answer(ctx, id, map[string]Answer{key: {answer, failure}})
		switch {
		case err == nil:
			return true
		case !errors.Is(err, ErrUnavailable) && failure != errAnswerTooLarge:
			all.Log.Error("the answer to a question of a task cannot be stored", "error", err)
			answer, failure = nil, errAnswerTooLarge
		}
		select {
		case <-time.After(savePause):
		case <-ctx.Done():
		}
	}
	return false
}
