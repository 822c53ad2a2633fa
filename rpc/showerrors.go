package rpc

import (
	"context"
	"errors"
)

// ShowErrors is [Middleware] that sends the text of every error of a handler to the other side,
// with [CodeInternalError], for handlers whose errors are written for the caller and hold no
// secrets:
//
//	rpc.Options{Handler: rpc.ShowErrors(router.Serve)}
//
// It changes no error that is or wraps an [*Error], and shows no panic. For [errors.Is] and
// [errors.AsType], as in [Hooks].Call, the error remains what it was.
func ShowErrors(next Handler) Handler {
	return func(ctx context.Context, req *Request) (any, error) {
		result, err := next(ctx, req)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				err = &shownError{err, Errorf(CodeInternalError, "%s", err.Error())}
			}
		}
		return result, err
	}
}

// A shownError is an error of a handler, and the error with its text for the other side.
type shownError struct {
	error
	shown *Error
}

func (e *shownError) Unwrap() []error { return []error{e.error, e.shown} }
