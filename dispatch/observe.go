package dispatch

import "context"

// Observe returns an interceptor that calls start before each call of an operation, and the
// function that start returned after it, with the code and message of the error, or with "". The
// code of an operation that panics is [InternalError]. The operation gets the context of start.
//
// [Options].Interceptors: []Interceptor{Observe(t.Operation)} traces and measures the operations
// with a *telemetry.Telemetry.
func Observe(start func(ctx context.Context, operation, surface string) (context.Context,
	func(code, message string))) Interceptor {
	return func(next Handler) Handler {
		return func(ctx context.Context, op *Operation, call *Call) (result Envelope) {
			ctx, end := start(ctx, op.Name(), call.Surface)
			failed := Error{Code: InternalError} // of a panic
			defer func() { end(string(failed.Code), failed.Message) }()
			result = next(ctx, op, call)
			failed = Error{}
			if result.Err != nil {
				failed = Error{Code: result.Err.Code, Message: result.Err.Message}
			}
			return result
		}
	}
}
