package dispatch

import (
	"cmp"
	"context"
)

// Observe returns an interceptor that calls start before each call of an operation, and the
// function that start returned after it, with the code and message of the error, or with "". The
// code of an operation that panics is [InternalError]. The operation gets the context of start.
//
// [Options].Interceptors: []Interceptor{Observe(t.Operation)} traces and measures the operations
// with a *telemetry.Telemetry.
func Observe(start func(ctx context.Context, operation, surface string) (context.Context,
	func(code, message string))) Interceptor {
	return func(next Handler) Handler {
		return func(ctx context.Context, i *Invocation) (Result, error) {
			ctx, end := start(ctx, i.Name, i.Surface)
			code, message := InternalError, "" // of a panic
			defer func() { end(string(code), message) }()
			result, err := next(ctx, i)
			code = ""
			if e := failure(result, err); e != nil {
				code, message = e.Code, e.Message
			}
			return result, err
		}
	}
}

// failure returns the error of a call of an operation, or nil.
func failure(result Result, err error) *Error {
	if err != nil {
		return cmp.Or(asError(err), internalError(err))
	}
	envelope, _ := result.(Envelope)
	return envelope.Err
}
