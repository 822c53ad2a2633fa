package telemetry

import "context"

// Operation starts the span of an operation that is called without MCP, such as by a command line
// or an HTTP API, and returns a function that ends it with the operation's code and message of an
// error, or with "". It is the argument of dispatch.Observe. The span is of the kind [Internal]. An
// operation whose surface is "mcp" gets none, because its message has one.
func (t *Telemetry) Operation(ctx context.Context, name, surface string) (context.Context,
	func(code, message string)) {
	if t == nil || surface == "mcp" {
		return ctx, func(string, string) {}
	}
	ctx, span := t.StartSpan(ctx, executeTool, SpanKindInternal)
	m := &span.span.message
	m.target, m.targetKey, m.surface = clip(name), attrTool, clip(surface)
	return ctx, func(code, message string) {
		span.end(failure{kind: code, text: message})
		key := m.operationKey
		key.errorType = code
		t.durations[SpanKindInternal].at(&key).record(span.span.Duration)
	}
}
