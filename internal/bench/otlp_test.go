package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// decodeOTLP decodes a payload as a collector does, except that it refuses unknown members.
// OTLP has IDs in hexadecimal where JSON of protobuf has base64, so those are not compared here.
func decodeOTLP(t *testing.T, text []byte, m proto.Message) {
	t.Helper()
	err := protojson.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(text, m)
	assert.NilError(t, err, "%s", text)
}

// OpenTelemetry's own types accept every payload, and contain the recorded data after decoding.
func TestOTLP(t *testing.T) {
	tel := telemetry.Options{Resource: []slog.Attr{slog.String("service.name", "a \"b\" \n é"),
		slog.Int64("big", math.MaxInt64), slog.Bool("b", true),
		slog.Float64("nan", math.NaN())}}.New()
	decodeOTLP(t, tel.AppendTraces(nil, nil), new(tracepb.ExportTraceServiceRequest))
	decodeOTLP(t, tel.AppendMetrics(nil), new(metricspb.ExportMetricsServiceRequest))

	id, err := rpc.ParseID([]byte(`"seven \"7\""`))
	assert.NilError(t, err)
	pass := func(m rpc.Middleware, ctx context.Context, method, params string, err error) {
		_, _ = m(func(context.Context, *rpc.Request) (any, error) {
			return json.RawMessage(`{"isError":true}`), err
		})(ctx, &rpc.Request{ID: id, Method: method,
			Params: json.RawMessage(params)})
	}
	ambient, err := telemetry.ParseSpanContext(
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	assert.NilError(t, err)
	ctx := telemetry.ContextWithParent(t.Context(), ambient)
	in, out := tel.Incoming(telemetry.Endpoint{}), tel.Outgoing(telemetry.Endpoint{
		Transport: "tcp", Protocol: "http", Address: "example.com", Port: 443, Service: "s"})
	pass(in, ctx, mcp.MethodCallTool, `{"name":"a\u0007\"","_meta":{"traceparent":`+
		`"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"a=1"}}`, nil)
	pass(out, ctx, mcp.MethodReadResource, `{"uri":"file:///\\"}`, rpc.Errorf(-32000, "no\n"))
	pass(out, t.Context(), mcp.MethodListTools, ``, nil)
	_, span := tel.StartSpan(ctx, "work", telemetry.SpanKindInternal, slog.Int("n", -7),
		slog.Float64("inf", math.Inf(-1)), slog.Any("any", []int{1}))
	span.End(context.Canceled)
	tel.Counter(telemetry.Instrument{Name: "c", Unit: "{x}", Labels: []string{"l"}}).Add(1, "v\xff")
	tel.Gauge(telemetry.Instrument{Name: "g"}, func(set func(float64, ...string)) {
		set(math.NaN())
	})

	var traces tracepb.ExportTraceServiceRequest
	decodeOTLP(t, tel.AppendTraces(nil, tel.TakeSpans(nil, 10)), &traces)
	assert.Equal(t, len(traces.ResourceSpans), 1)
	assert.Equal(t, traces.ResourceSpans[0].Resource.Attributes[1].Value.GetIntValue(),
		int64(math.MaxInt64))
	spans := traces.ResourceSpans[0].ScopeSpans[0].Spans
	assert.Equal(t, len(spans), 4)
	assert.Equal(t, spans[0].Name, "tools/call a\a\"")
	assert.Equal(t, spans[0].Kind.String(), "SPAN_KIND_SERVER")
	assert.Equal(t, spans[0].TraceState, "a=1")
	assert.Equal(t, len(spans[0].Links), 1)
	assert.Equal(t, spans[0].Status.Code.String(), "STATUS_CODE_ERROR")
	assert.Equal(t, spans[1].Status.Message, "no\n")
	assert.Assert(t, spans[2].Status == nil && spans[2].ParentSpanId == nil)
	assert.Equal(t, spans[3].Kind.String(), "SPAN_KIND_INTERNAL")
	for _, s := range spans {
		assert.Assert(t, s.StartTimeUnixNano > 0 && s.EndTimeUnixNano >= s.StartTimeUnixNano)
	}

	var metrics metricspb.ExportMetricsServiceRequest
	decodeOTLP(t, tel.AppendMetrics(nil), &metrics)
	found := map[string]bool{}
	for _, m := range metrics.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		found[m.Name] = true
		switch m.Name {
		case "mcp.client.operation.duration":
			points := m.GetHistogram().DataPoints
			assert.Equal(t, len(points), 2)
			for _, p := range points {
				assert.Equal(t, p.Count, uint64(1))
				assert.Equal(t, len(p.BucketCounts), len(p.ExplicitBounds)+1)
			}
		case "c":
			assert.Assert(t, m.GetSum().IsMonotonic)
			assert.Equal(t, m.GetSum().DataPoints[0].GetAsDouble(), 1.0)
			assert.Equal(t, m.GetSum().DataPoints[0].Attributes[0].Value.GetStringValue(),
				"v\uFFFD")
		case "g":
			assert.Assert(t, math.IsNaN(m.GetGauge().DataPoints[0].GetAsDouble()))
		}
	}
	assert.Assert(t, found["mcp.server.operation.duration"] && found["c"] && found["g"])
}

// OpenTelemetry's own types accept the output of stdwire tap traces for a recording. The files are
// those with which the tests of package tap compare the output.
func TestOTLPOfRecordings(t *testing.T) {
	files, err := filepath.Glob("../../cmd/stdwire/internal/tap/testdata/*.otlp.json")
	assert.NilError(t, err)
	assert.Equal(t, len(files), 2)
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		var traces tracepb.ExportTraceServiceRequest
		decodeOTLP(t, text, &traces)
		spans := traces.ResourceSpans[0].ScopeSpans[0].Spans
		assert.Assert(t, len(spans) > 3)
		for _, s := range spans {
			assert.Assert(t, s.StartTimeUnixNano > 0 && s.EndTimeUnixNano >= s.StartTimeUnixNano)
		}
	}
}
