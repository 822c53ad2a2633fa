package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// errOnceFailed is the error for goroutines that wait for a call of fn that did not return.
var errOnceFailed = errors.New(
	"server: Once: the function panicked or ended its goroutine, in another goroutine")

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
	r.mu.Lock()
	call, first := r.mrtr().Once(key)
	r.mu.Unlock()
	if first {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.mrtr().Finish(key, call)
		}()
		call.Err = errOnceFailed // unless fn returns
		if value, err = fn(ctx); err == nil {
			if call.Result, err = mcp.Marshal(value); err != nil {
				err = fmt.Errorf("server: Once %q: %w", key, err)
			}
		}
		call.Err = err
		return value, err
	}
	select {
	case <-call.Done:
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
	if call.Err != nil {
		return value, call.Err
	}
	return value, mcp.Unmarshal(call.Result, &value)
}
