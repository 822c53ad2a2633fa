package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

// A legacy session has a duration at both ends; the modern era has none.
func TestSessionDuration(t *testing.T) {
	for _, revision := range revisions {
		t.Run(string(revision), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testSessionDuration(t, revision) })
		})
	}
}

func testSessionDuration(t *testing.T, revision mcp.Revision) {
	tel := telemetry.Options{}.New()
	s := newServer(t, server.Options{
		Middleware: []rpc.Middleware{tel.Incoming(telemetry.Endpoint{})}})
	c := mcptest.Connect(t, s, client.Options{Revision: revision,
		Outgoing: []rpc.Middleware{tel.Outgoing(telemetry.Endpoint{Transport: "pipe"})}})
	for range 3 { // the server permits it, and the session remains the same
		_, _ = c.Call(t.Context(), mcp.MethodInitialize, mcp.InitializeParams{
			ProtocolVersion: revision})
	}
	time.Sleep(90 * time.Second)
	assert.NilError(t, c.Close())
	_ = c.Wait()
	synctest.Wait()
	var lines []string
	for _, m := range tel.Metrics() {
		if strings.HasSuffix(m.Name, "session.duration") {
			for _, p := range m.Points {
				lines = append(lines, fmt.Sprint(m.Name, p.Count(), p.Value, p.Attributes))
			}
		}
	}
	var want []string
	if revision == mcp.LatestLegacy {
		const attrs = "90 [mcp.protocol.version=2025-11-25 network.transport=pipe]"
		want = []string{"mcp.server.session.duration1 " + attrs,
			"mcp.client.session.duration1 " + attrs}
	}
	assert.DeepEqual(t, lines, want)
}

// A question of a legacy server is a child of the call, at both ends.
func TestQuestion(t *testing.T) {
	inServer, inClient := telemetry.Options{}.New(), telemetry.Options{}.New()
	s := server.Options{
		Middleware: []rpc.Middleware{inServer.Incoming(telemetry.Endpoint{})},
		Outgoing:   []rpc.Middleware{inServer.Outgoing(telemetry.Endpoint{Transport: "pipe"})},
	}.New(server.Info{Name: "s", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "ask"}, func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := server.Roots(ctx, "roots")
		return fmt.Sprint(len(roots)), err
	})
	c := mcptest.Connect(t, s, client.Options{Revision: mcp.LatestLegacy,
		Output:     client.OutputUnchecked,
		Roots:      []mcp.Root{{URI: "file:///"}},
		Middleware: []rpc.Middleware{inClient.Incoming(telemetry.Endpoint{})},
		Outgoing:   []rpc.Middleware{inClient.Outgoing(telemetry.Endpoint{Transport: "pipe"})}})
	take(inServer)
	take(inClient)
	_, err := c.CallToolRaw(t.Context(), "ask", nil)
	assert.NilError(t, err)
	atServer, atClient := take(inServer), take(inClient)
	assert.Equal(t, len(atServer), 2)
	assert.Equal(t, len(atClient), 2)
	chain := []telemetry.Span{atClient[1], atServer[1], atServer[0], atClient[0]}
	for i, want := range []string{"CLIENT tools/call ask", "SERVER tools/call ask",
		"CLIENT roots/list", "SERVER roots/list"} {
		assert.Assert(t, strings.HasPrefix(text(chain[i]), want), text(chain[i]))
		if i > 0 {
			assert.Equal(t, chain[i].Parent, chain[i-1].SpanContext.Span)
			assert.Equal(t, chain[i].Trace, chain[0].Trace)
		}
	}
}

// run passes a request through middleware, and returns the context and params that the next handler
// gets.
func run(ctx context.Context, m rpc.Middleware, req *rpc.Request) (inner context.Context,
	sent *rpc.Request) {
	_, _ = m(func(ctx context.Context, req *rpc.Request) (any, error) {
		inner, sent = ctx, req
		return nil, nil
	})(ctx, req)
	return inner, sent
}

func TestParents(t *testing.T) {
	tel := telemetry.Options{}.New()
	ambient, err := telemetry.ParseSpanContext(
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	assert.NilError(t, err)
	httpContext := telemetry.ContextWithParent(t.Context(), ambient)
	own := json.RawMessage(
		`{"_meta":{"traceparent":"00-` + clientTrace + "-" + clientSpan + `-01"}}`)
	in, out := tel.Incoming(telemetry.Endpoint{}), tel.Outgoing(telemetry.Endpoint{})
	one := func(ctx context.Context, m rpc.Middleware, params json.RawMessage) telemetry.Span {
		run(ctx, m, &rpc.Request{Method: mcp.MethodPing, ID: rpc.IntID(1), Params: params})
		spans := take(tel)
		assert.Equal(t, len(spans), 1)
		return spans[0]
	}

	span := one(httpContext, in, own)
	assert.Equal(t, span.Trace.String(), clientTrace)
	assert.DeepEqual(t, span.Links, []telemetry.SpanContext{ambient})
	assert.Assert(t, span.RemoteParent)

	span = one(httpContext, in, nil)
	assert.Equal(t, span.Trace, ambient.Trace)
	assert.Equal(t, len(span.Links), 0)

	span = one(t.Context(), in, json.RawMessage(`{"_meta":{"traceparent":"00-0-0-01"}}`))
	assert.Equal(t, span.Parent, telemetry.SpanID{})

	span = one(httpContext, out, own) // the trace context of the application has precedence
	assert.Equal(t, span.Trace.String(), clientTrace)
	assert.Equal(t, span.Parent.String(), clientSpan)

	span = one(httpContext, out, nil)
	assert.Equal(t, span.Parent, ambient.Span)

	assert.Equal(t, telemetry.ContextWithParent(t.Context(), telemetry.SpanContext{}), t.Context())
}

// A notification starts no trace, but belongs to that of its sender.
func TestNotifications(t *testing.T) {
	tel := telemetry.Options{}.New()
	out := tel.Outgoing(telemetry.Endpoint{})
	_, sent := run(t.Context(), out, &rpc.Request{Method: mcp.NotificationRootsListChanged})
	assert.Equal(t, string(sent.Params), "")
	assert.Equal(t, len(take(tel)), 0)
	ctx, active := tel.StartSpan(t.Context(), "work", telemetry.SpanKindInternal)
	_, sent = run(ctx, out, &rpc.Request{Method: mcp.NotificationRootsListChanged})
	active.End(nil)
	spans := take(tel)
	assert.Equal(t, len(spans), 2)
	assert.Equal(t, spans[0].Parent, spans[1].SpanContext.Span)
	assert.Equal(t, string(sent.Params),
		`{"_meta":{"traceparent":"`+spans[0].Traceparent()+`"}}`)
	assert.Equal(t, total(find(t, tel, "mcp.client.operation.duration")), uint64(2))
}

// A trace that is not sampled is passed on unchanged, and its duration counts.
func TestUnsampled(t *testing.T) {
	off, err := telemetry.ParseSampler("always_off", "")
	assert.NilError(t, err)
	tel := telemetry.Options{Sampler: off}.New()
	_, sent := run(t.Context(), tel.Outgoing(telemetry.Endpoint{}),
		&rpc.Request{Method: mcp.MethodPing})
	assert.Assert(t, strings.HasSuffix(string(sent.Params), `-00"}}`), string(sent.Params))
	assert.Equal(t, len(take(tel)), 0)
	assert.Equal(t, total(find(t, tel, "mcp.client.operation.duration")), uint64(1))
}

// Without spans, a trace context is passed on unchanged, and no new one is created, because no span
// exists that another process could use as its parent.
func TestMetricsOnly(t *testing.T) {
	tel := telemetry.Options{MaxSpans: -1}.New()
	in, out := tel.Incoming(telemetry.Endpoint{}), tel.Outgoing(telemetry.Endpoint{})
	request := func(params string) *rpc.Request {
		return &rpc.Request{ID: rpc.IntID(1), Method: mcp.MethodPing,
			Params: json.RawMessage(params)}
	}
	const trace = `{"_meta":{"traceparent":"00-` + clientTrace + "-" + clientSpan + `-01"}}`
	inner, _ := run(t.Context(), in, request(trace))
	assert.Equal(t, telemetry.SpanContextFrom(inner).Span.String(), clientSpan)
	_, sent := run(inner, out, request(""))
	assert.Equal(t, string(sent.Params), trace)
	ctx, active := tel.StartSpan(inner, "work", telemetry.SpanKindInternal)
	active.End(nil)
	assert.Equal(t, telemetry.SpanContextFrom(ctx), telemetry.SpanContextFrom(inner))

	inner, _ = run(t.Context(), in, request(""))
	assert.Assert(t, !telemetry.SpanContextFrom(inner).IsValid())
	_, sent = run(inner, out, request(""))
	assert.Equal(t, string(sent.Params), "")
	assert.Equal(t, total(find(t, tel, "mcp.client.operation.duration")), uint64(2))

	handler := func(context.Context, *rpc.Request) (any, error) { return nil, nil }
	req, handleIn, handleOut := request(`{}`), in(handler), out(handler)
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		_, _ = handleIn(t.Context(), req)
		_, _ = handleOut(t.Context(), req)
	}), 0.0)
}

func TestErrorTypes(t *testing.T) {
	tel := telemetry.Options{}.New()
	for _, test := range []struct {
		err  error
		want string
	}{
		{rpc.Errorf(-32000, "x"), "-32000"},
		{fmt.Errorf("wrapped: %w", rpc.ErrInvalidParams), "-32602"},
		{context.DeadlineExceeded, "timeout"},
		{fmt.Errorf("x: %w", context.Canceled), "cancelled"},
		{rpc.ErrClosed, "connection_closed"},
		{errors.New("x"), "_OTHER"},
	} {
		handle(tel.Outgoing(telemetry.Endpoint{}), mcp.MethodPing, "", nil, test.err)
		assert.Equal(t, take(tel)[0].ErrorType, test.want)
	}
	// a handler's own error is -32603 for the other side, which never sees its text
	handle(tel.Incoming(telemetry.Endpoint{}), mcp.MethodPing, "", nil, errors.New("secret"))
	span := take(tel)[0]
	assert.Equal(t, span.ErrorType+span.Message, "-32603")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(rpc.ErrCancelled)
	_, _ = tel.Incoming(telemetry.Endpoint{})(func(context.Context, *rpc.Request) (any, error) {
		return nil, ctx.Err()
	})(ctx, &rpc.Request{Method: mcp.MethodPing})
	assert.Equal(t, take(tel)[0].ErrorType, "cancelled")
}

func TestOperation(t *testing.T) {
	tel := telemetry.Options{}.New()
	catalog := dispatch.NewCatalog()
	var inner context.Context
	dispatch.Add(catalog, dispatch.Spec{Name: "weather.get", Summary: "The weather.",
		Type: dispatch.Read, Errors: []dispatch.Code{dispatch.NotFound}},
		func(ctx context.Context, in struct {
			Bad   bool `json:"bad,omitempty"`
			Panic bool `json:"panic,omitempty"`
		}) (string, error) {
			inner = ctx
			if in.Panic {
				panic("x")
			}
			if in.Bad {
				return "", dispatch.Errorf(dispatch.NotFound, "no city")
			}
			return "sun", nil
		})
	d := dispatch.Options{
		Logger:       slog.New(slog.DiscardHandler),
		Interceptors: []dispatch.Interceptor{dispatch.Observe(tel.Operation)}}.New(catalog)
	for _, test := range []struct{ surface, arguments, want string }{
		{"cli", `{}`, "INTERNAL execute_tool weather.get gen_ai.operation.name=execute_tool " +
			"gen_ai.tool.name=weather.get stdwire.surface=cli"},
		{"http", `{"bad":true}`, "INTERNAL execute_tool weather.get error.type=not_found " +
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=weather.get " +
			"stdwire.surface=http (no city)"},
		{"http", `{"panic":true}`, "INTERNAL execute_tool weather.get " +
			"error.type=internal_error gen_ai.operation.name=execute_tool " +
			"gen_ai.tool.name=weather.get stdwire.surface=http (internal error)"},
		{"mcp", `{}`, ""},
	} {
		d.Dispatch(t.Context(), &dispatch.Call{Operation: "weather.get", Surface: test.surface,
			Arguments: json.RawMessage(test.arguments)})
		spans := take(tel)
		if test.want == "" {
			assert.Equal(t, len(spans), 0)
			continue
		}
		got := text(spans[0])
		if strings.Contains(test.want, "internal error") {
			got = strings.Split(got, " (")[0] + " (internal error)"
		}
		assert.Equal(t, got, test.want)
		assert.Equal(t, telemetry.SpanContextFrom(inner).Span, spans[0].SpanContext.Span)
	}
	assert.Equal(t, total(find(t, tel, "stdwire.operation.duration")), uint64(3))
}

func TestLogHandler(t *testing.T) {
	tel := telemetry.Options{}.New()
	ctx, active := tel.StartSpan(t.Context(), "work", telemetry.SpanKindInternal)
	defer active.End(nil)
	span := telemetry.SpanContextFrom(ctx)
	ids := fmt.Sprintf(" trace_id=%v span_id=%v", span.Trace, span.Span)
	var b bytes.Buffer
	log := slog.New(telemetry.LogHandler(slog.NewTextHandler(&b, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
	for _, test := range []struct {
		log  *slog.Logger
		ctx  context.Context
		want string
	}{
		{log, t.Context(), "level=INFO msg=m x=1\n"},
		{log, ctx, "level=INFO msg=m x=1" + ids + "\n"},
		{log.With("a", 1), ctx, "level=INFO msg=m a=1 x=1" + ids + "\n"},
		{log.WithGroup("g").With("b", 2), ctx, "level=INFO msg=m" + ids + " g.b=2 g.x=1\n"},
		{log.With("a", 1).WithGroup("g"), ctx, "level=INFO msg=m a=1" + ids + " g.x=1\n"},
		{log.WithGroup("g"), t.Context(), "level=INFO msg=m g.x=1\n"},
	} {
		b.Reset()
		test.log.InfoContext(test.ctx, "m", "x", 1)
		assert.Equal(t, b.String(), test.want)
	}
	b.Reset()
	log.DebugContext(ctx, "m")
	assert.Equal(t, b.String(), "")
}

// Without telemetry, middleware is the handler itself and costs nothing.
func TestNil(t *testing.T) {
	var tel *telemetry.Telemetry
	handler := func(context.Context, *rpc.Request) (any, error) { return nil, nil }
	var e telemetry.Endpoint
	in, out := tel.Incoming(e)(handler), tel.Outgoing(e)(handler)
	var made dispatch.Result = dispatch.Envelope{Session: "s"}
	operation := dispatch.Observe(tel.Operation)(
		func(context.Context, *dispatch.Invocation) (dispatch.Result, error) { return made, nil })
	call := new(dispatch.Invocation)
	counter := tel.Counter(telemetry.Instrument{Name: "x", Labels: []string{"a"}})
	req := &rpc.Request{Method: mcp.MethodPing, Params: json.RawMessage(`{}`)}
	ctx := t.Context()
	assert.Equal(t, testing.AllocsPerRun(100, func() {
		_, _ = in(ctx, req)
		_, _ = out(ctx, req)
		_, _ = operation(ctx, call)
		counter.Add(1, "b")
		_, active := tel.StartSpan(ctx, "x", telemetry.SpanKindInternal, slog.Int("a", 1))
		active.End(nil)
	}), 0.0)
	got, active := tel.StartSpan(ctx, "x", telemetry.SpanKindInternal)
	active.Set(slog.Int("a", 1))
	active.End(nil)
	assert.Equal(t, got, ctx)
	tel.Gauge(telemetry.Instrument{Name: "x"}, nil)
	same, err := operation(ctx, call)
	assert.NilError(t, err)
	assert.Equal(t, same.(dispatch.Envelope).Session, "s")
}
