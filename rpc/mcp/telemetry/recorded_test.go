package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A request of a recording has the span that its sender would have recorded.
func TestRecordedSpan(t *testing.T) {
	const parent = `"traceparent":"00-` + clientTrace + "-" + clientSpan + `-01","tracestate":"a=1"`
	endpoint := telemetry.Endpoint{Service: "weather"}
	for _, tt := range []struct {
		method, params, result string
		err                    error
	}{
		{"tools/call", `{"name":"get","_meta":{` + parent + `}}`, `{"content":[]}`, nil},
		{"tools/call", `{"name":"get"}`, `{"isError":true}`, nil},
		{"tools/call", `{"name":"get"}`, ``, rpc.Errorf(-32000, "no \"city\"")},
		{"prompts/get", `{"name":"g\u0065t","_meta":{"` + mcp.MetaProtocolVersion +
			`":"2026-07-28"}}`, `{"isError":true}`, nil},
		{"resources/read", `{"uri":"file:///a"}`, ``, rpc.ErrCancelled},
		{"tools/list", ``, ``, rpc.ErrClosed},
		{"x/y", `[]`, `{}`, nil},
		{"x/y/z", `{}`, ``, errors.New("secret")},
	} {
		synctest.Test(t, func(t *testing.T) {
			tel := telemetry.Options{}.New()
			_, _ = tel.Outgoing(endpoint)(func(_ context.Context, req *rpc.Request) (any, error) {
				time.Sleep(time.Second)
				req.ID = rpc.IntID(7)
				return json.RawMessage(tt.result), tt.err
			})(t.Context(), &rpc.Request{Method: tt.method, Params: json.RawMessage(tt.params)})
			spans := tel.TakeSpans(nil, 2)
			assert.Equal(t, len(spans), 1)
			live := &spans[0]

			params := []byte(tt.params)
			end := telemetry.Options{}.New().RecordedSpan(telemetry.SpanKindClient, endpoint,
				&rpc.Request{ID: rpc.IntID(7), Method: tt.method, Params: params},
				telemetry.SpanContext{Trace: live.Trace, Span: live.Span, Sampled: true},
				time.Now().Add(-time.Second))
			clear(params) // params are not retained
			span := end(time.Now(), "", json.RawMessage(tt.result), tt.err)
			assert.Equal(t, string(tel.AppendTraces(nil, []telemetry.Span{*span})),
				string(tel.AppendTraces(nil, spans)))
		})
	}
}

func TestRecordedSpanInItsConnection(t *testing.T) {
	tel := telemetry.Options{MaxSpans: -1}.New()
	id := telemetry.SpanContext{Trace: telemetry.TraceID{1}, Span: telemetry.SpanID{2}}
	parent := id.Traceparent()
	at := time.Unix(100, 0)
	request := func(params string) func(time.Time, mcp.Revision, json.RawMessage,
		error) *telemetry.Span {
		return tel.RecordedSpan(telemetry.SpanKindServer, telemetry.Endpoint{},
			&rpc.Request{Method: "ping", Params: json.RawMessage(params)},
			telemetry.SpanContext{Trace: telemetry.TraceID{3}, Span: telemetry.SpanID{4},
				Sampled: true}, at)
	}
	span := request(`{"_meta":{"traceparent":"`+parent+`"}}`)(at.Add(-1), "2025-06-18", nil,
		nil)
	assert.Equal(t, span.Trace, telemetry.TraceID{1})
	assert.Equal(t, span.Span, telemetry.SpanID{4})
	assert.Equal(t, span.Parent, telemetry.SpanID{2})
	assert.Assert(t, span.RemoteParent && span.Sampled)
	assert.Equal(t, span.Duration, time.Duration(0))
	assert.Equal(t, span.Attributes()[1].Value.String(), "2025-06-18")
	span = request(`{"_meta":{"`+mcp.MetaProtocolVersion+`":"2026-07-28"}}`)(at.Add(1),
		"2025-06-18", nil, nil)
	assert.Equal(t, span.Trace, telemetry.TraceID{3})
	assert.Equal(t, span.Duration, time.Duration(1))
	assert.Equal(t, span.Attributes()[1].Value.String(), "2026-07-28")
	assert.Equal(t, len(tel.TakeSpans(nil, 1)), 0)
	assert.Equal(t, tel.DroppedSpans(), uint64(0))
}
