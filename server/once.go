package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// errOnceFailed is what those get who wait for a function that does not return.
var errOnceFailed = errors.New("server: Once: the function panicked or ended its goroutine, in another goroutine")

// A onceCall is a call of a function of [Once] that is in flight.
type onceCall struct {
	done   chan struct{}
	result json.RawMessage // when done
	err    error
}

// Once runs fn, unless a run of the handler for the same request has done so before the client was
// asked: then it returns what fn returned that time. Of several goroutines that call it with one
// key at a time, one runs fn, and the others wait and return the same, an error too. What fn
// returns is encoded as JSON, and carried by a modern client until the request is done: keep it
// small. An error is not kept. key is of the same names as those of questions; fn must not call
// Once with it.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (value T, err error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return value, err
	}
	call, first := r.once(key)
	if first {
		defer r.finishOnce(key, call)
		call.err = errOnceFailed // unless fn returns
		if value, err = fn(ctx); err == nil {
			if call.result, err = mcp.Marshal(value); err != nil {
				err = fmt.Errorf("server: Once %q: %w", key, err)
			}
		}
		call.err = err
		return value, err
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
	if call.err != nil {
		return value, call.err
	}
	return value, mcp.Unmarshal(call.result, &value)
}

// onceDigest is what a key stands for that is none of a question.
var onceDigest = []byte("once")

// once returns the call for a key: that of a run before, one in flight, or the first, which is the
// caller's to make.
func (r *request) once(key string) (call *onceCall, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.mrtr()
	if call = x.onceCalls[key]; call != nil {
		return call, false
	}
	call = &onceCall{done: make(chan struct{})}
	if kept := x.storedAnswer(key, onceDigest); kept != nil {
		call.result = kept
		close(call.done)
		return call, false
	}
	if x.onceCalls == nil {
		x.onceCalls = map[string]*onceCall{}
	}
	x.onceCalls[key] = call
	return call, true
}

// finishOnce ends a call, and keeps what came of it.
func (r *request) finishOnce(key string, call *onceCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.mrtr()
	delete(x.onceCalls, key)
	if call.err == nil {
		x.recordQuestion(key, onceDigest)
		x.recordAnswer(key, call.result)
	}
	close(call.done)
}
