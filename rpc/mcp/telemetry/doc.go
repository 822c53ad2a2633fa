// Package telemetry records what MCP servers, clients and gateways do as traces and metrics, by the
// semantic conventions of OpenTelemetry for MCP, without any library of OpenTelemetry.
//
// A [Telemetry] makes the middleware that records:
//
//	t := telemetry.Options{Resource: []slog.Attr{slog.String("service.name", "weather")}}.New()
//	srv := server.Options{
//		Middleware: []rpc.Middleware{t.Incoming(telemetry.Endpoint{})},
//		Outgoing:   []rpc.Middleware{t.Outgoing(telemetry.Endpoint{})},
//	}.New(info, catalog)
//
// client.Options has the same two fields. [Telemetry.Operation] is for operations that are called
// without MCP.
//
// # Traces
//
// Each message has a [Span]: its receiver records one of the kind [Server], its sender one of the
// kind [Client]. Outgoing sends the span's identity in params._meta, as W3C Trace Context, where
// Incoming finds it (SEP-414). The context of a handler carries its span, so that what the handler
// sends becomes a child: a call through a gateway is one trace.
//
//	client  tools/call   CLIENT ─┐
//	gateway tools/call           └─ SERVER ─┐
//	gateway tools/call                      └─ CLIENT ─┐
//	server  tools/call                                 └─ SERVER
//
// Incoming and Outgoing replace nothing else in _meta, and baggage stays. A traceparent that the
// application has put into _meta itself names the parent of the new span, unless it is of the
// trace of the handler's span. [ContextWithParent] is for a transport that has a trace context of
// its own, such as the header of an HTTP request. The span becomes its child, or, if _meta names
// another parent, has a link to it.
//
// The span of a message that a server receives names its caller: enduser.id is the principal, and
// mcp.session.id a name of the session that the server has made up, because the session ID of
// Streamable HTTP is a secret. Metrics have neither: there would be a series for each.
//
// A [Sampler] says which traces are recorded. Finished spans wait in a queue until
// [Telemetry.TakeSpans] takes them; [Telemetry.AppendTraces] encodes them as OTLP. When the queue
// is full, further spans are dropped and counted: a call never waits for whoever exports.
// [Telemetry.RecordedSpan] makes the span of a request in a recording. Neither arguments nor
// results are ever recorded.
//
// # Metrics
//
// Incoming and Outgoing record mcp.server.operation.duration and mcp.client.operation.duration, and
// for connections of the legacy era, which have a session, mcp.server.session.duration and
// mcp.client.session.duration. An application adds its own with [Telemetry.Counter] and
// [Telemetry.Gauge]. [Telemetry.WritePrometheus], [Telemetry.AppendMetrics] and [Telemetry.String]
// encode all metrics for Prometheus, OTLP and expvar.
//
// Each combination of attributes is a series. An instrument has at most Options.MaxSeries of them;
// further values go to one series with the attribute otel.metric.overflow. The other side chooses
// the names of tools, prompts and methods, so a name becomes an attribute of a metric only once a
// message with it has had a result.
//
// # Cost
//
// Nothing is recorded without middleware, and the middleware of a nil *Telemetry does nothing.
// Otherwise a message that is received costs one allocation, one that is sent two, and either less
// than a microsecond: about half of one, unless its span is sampled. Without spans, a message
// without a trace context costs a third of a microsecond and no allocation. Half a microsecond is a
// tenth of the processor time of a call over stdio when many are in flight, and about a twentieth
// of a call over HTTP.
//
// No part stands out: the context with the span, reading the params ahead of the middleware, the
// traceparent, finding the members, the clock, and the series take 40 to 90 ns each. A server reads
// the params of a request once, for itself and for Incoming. Whether a trace is sampled is known
// before the handler is called: a message that is not sampled makes no span. Recording takes no
// lock, except to add a sampled span to the queue; encoding it for a collector takes about as long
// again as recording it. The suite telemetry of internal/bench measures whole calls in each of
// these configurations.
package telemetry
