package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// errOnceFailed is the error for goroutines that wait for a function that does not return.
var errOnceFailed = errors.New(
	"server: Once: the function panicked or ended its goroutine, in another goroutine")

// A onceCall is a call of a function of [Once], in progress or done.
type onceCall struct {
	done   chan struct{}
	result json.RawMessage // when done
	err    error
}

// Once runs fn once for a request whose handler runs more than once. Later calls return the result
// of the first. Handlers run again when a client has answered, see [Elicit]. If several goroutines
// call Once with one key at a time, one of them runs fn, and the others wait and return the same
// result or error.
//
// The result is encoded as JSON and carried by a modern client in requestState until the request is
// done, so it should be small. An error is not kept. a key must not also be the key of a question;
// fn must not call Once with the same key.
//
// Once does not protect against a client that repeats a request deliberately. A client may use a
// requestState again until it expires, 15 minutes after it was made, and one from before the call
// of Once makes fn run again. An action that must never be repeated, such as a payment, needs a
// record of its own.
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

// once returns the call for a key: that of an earlier run, one in progress, or a new one, which the
// caller has to make.
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

// finishOnce ends a call and records its result.
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
