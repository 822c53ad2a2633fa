package telemetry

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
)

// Operation returns an interceptor for the operations of a dispatcher that are called without MCP,
// such as by a command line or an HTTP API: the field Interceptors of dispatch.Options. Each call
// gets a span of the kind [Internal]. A call by MCP gets none, because its message has one.
func (t *Telemetry) Operation() dispatch.Interceptor {
	if t == nil {
		return func(next dispatch.Handler) dispatch.Handler { return next }
	}
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, op *dispatch.Operation,
			call *dispatch.Call) (result dispatch.Envelope) {
			if call.Surface == "mcp" {
				return next(ctx, op, call)
			}
			ctx, span := t.StartSpan(ctx, executeTool, Internal)
			m := &span.span.message
			m.target, m.targetKey, m.surface = clip(op.Name()), attrTool, clip(call.Surface)
			f := failure{kind: string(dispatch.InternalError)} // of a panic
			defer func() {
				span.end(f)
				key := m.operationKey
				key.errorType = f.kind
				t.durations[Internal].at(&key).record(span.span.Duration)
			}()
			result = next(ctx, op, call)
			f = failure{}
			if result.Err != nil {
				f = failureOf(result.Err)
			}
			return result
		}
	}
}
