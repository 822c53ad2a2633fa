package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// errOnceFailed is the error for goroutines that wait for a call of fn that did not return.
var errOnceFailed = errors.New(
	"server: Once: the function panicked or ended its goroutine, in another goroutine")

// A onceCall is a call of the function of [Once], in progress or done.
type onceCall struct {
	done   chan struct{}
	result json.RawMessage // set when done
	err    error
}

// Once runs fn once for a request, even if the handler runs more than once: later calls return the
// result of the first. A handler runs again when its client has answered, see [Elicit]. If several
// goroutines call Once with the same key at the same time, one of them runs fn, and the others wait
// and return the same result or error.
//
// The result is encoded as JSON. A modern client carries it in requestState until the request is
// done, so it should be small. An error is not stored. key must not also be the key of a question,
// and fn must not call Once with the same key.
//
// Once does not protect against a client that repeats a request deliberately. A client may use a
// requestState again until it expires, 15 minutes after it was made, and fn runs again if the
// requestState is older than the call of Once. An action that must never be repeated, such as a
// payment, needs its own record.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (value T,
	err error) {
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

// onceDigest takes the place of a question's digest for a key of Once.
var onceDigest = []byte("once")

// once returns the call for a key: that of an earlier run, one in progress, or a new one. If first
// is true, the caller must make the call.
func (r *request) once(key string) (call *onceCall, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.mrtr()
	if call = x.onceCalls[key]; call != nil {
		return call, false
	}
	call = &onceCall{done: make(chan struct{})}
	if kept := x.state.Answer(key, onceDigest); kept != nil {
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

// finishOnce ends a call and records its result.
func (r *request) finishOnce(key string, call *onceCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.mrtr()
	delete(x.onceCalls, key)
	if call.err == nil {
		x.state.RecordQuestion(key, onceDigest)
		x.state.RecordAnswer(key, call.result)
	}
	close(call.done)
}
