package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// recorded returns the telemetry of a client in a bubble: a call of a tool of 30 ms, with a parent,
// and one that fails after 5 s.
func recorded() *telemetry.Telemetry {
	tel := telemetry.Options{Resource: []slog.Attr{
		slog.String("service.name", `we"ather\`+"\n"), slog.Int("process.pid", 7),
		slog.Bool("test", true), slog.Float64("share", 0.5)}}.New()
	out := tel.Outgoing(telemetry.Endpoint{Transport: "tcp", Protocol: "http",
		Address: "example.com", Port: 8080, Service: "weather"})
	call := func(d time.Duration, params string, result any, err error) {
		_, _ = out(func(_ context.Context, req *rpc.Request) (any, error) {
			time.Sleep(d)
			req.ID = rpc.IntID(7)
			return result, err
		})(context.Background(), &rpc.Request{Method: mcp.MethodCallTool,
			Params: json.RawMessage(params)})
	}
	call(30*time.Millisecond, `{"name":"get","_meta":{"traceparent":"00-`+clientTrace+"-"+
		clientSpan+`-01","tracestate":"a=1"}}`, json.RawMessage(`{"content":[]}`), nil)
	call(5*time.Second, `{"name":"get"}`, nil, rpc.Errorf(-32000, "no \"city\""))
	tel.Counter(telemetry.Instrument{Name: "app.visits", Unit: "{visit}",
		Description: "Visits,\nby \\city.", Labels: []string{"city", "a-b", "a.b"}}).
		Add(3, "Os\"lo\\\n", "x", "y")
	tel.Gauge(telemetry.Instrument{Name: "app.share", Unit: "1"},
		func(set func(float64, ...string)) { set(0.25) })
	return tel
}

func TestWritePrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		assert.NilError(t, recorded().WritePrometheus(&b))
		const labels = `gen_ai_operation_name="execute_tool",gen_ai_tool_name="get",` +
			`mcp_method_name="tools/call",network_protocol_name="http",network_transport="tcp",`
		const peer = `server_address="example.com",server_port="8080",service_peer_name="weather"`
		for _, want := range []string{
			"# HELP target_info The resource that the metrics are of.\n# TYPE target_info gauge\n" +
				`target_info{process_pid="7",service_name="we\"ather\\\n",share="0.5",test="true"} 1` +
				"\n# HELP mcp_client_operation_duration_seconds ",
			"\n# TYPE mcp_client_operation_duration_seconds histogram\n",
			`mcp_client_operation_duration_seconds_bucket{` + labels + peer + `,le="0.02"} 0` + "\n" +
				`mcp_client_operation_duration_seconds_bucket{` + labels + peer +
				`,le="0.05"} 1` + "\n",
			`mcp_client_operation_duration_seconds_bucket{` + labels + peer + `,le="+Inf"} 1` + "\n" +
				`mcp_client_operation_duration_seconds_sum{` + labels + peer + `} 0.03` + "\n" +
				`mcp_client_operation_duration_seconds_count{` + labels + peer + `} 1` + "\n",
			`_sum{error_type="-32000",` + labels + `rpc_response_status_code="-32000",` + peer +
				"} 5\n",
			`_bucket{error_type="-32000",` + labels + `rpc_response_status_code="-32000",` + peer +
				`,le="2"} 0` + "\n" + `mcp_client_operation_duration_seconds_bucket{` +
				`error_type="-32000",` + labels + `rpc_response_status_code="-32000",` + peer +
				`,le="5"} 1` + "\n", // a bound belongs to its bucket
			"# HELP app_visits_total Visits,\\nby \\\\city.\n# TYPE app_visits_total counter\n" +
				`app_visits_total{a_b="x;y",city="Os\"lo\\\n"} 3` + "\n",
			"# TYPE app_share_ratio gauge\napp_share_ratio 0.25\n",
			"stdwire_telemetry_spans_dropped_total 0\n",
		} {
			assert.Assert(t, strings.Contains(b.String(), want), "%s\nin\n%s", want, b.String())
		}
	})
}

func TestAppendTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel := recorded()
		text := string(tel.AppendTraces(nil, take(tel)))
		ids := regexp.MustCompile(`"(traceId|spanId)":"[0-9a-f]{32}"|"spanId":"[0-9a-f]{16}"`)
		assert.Equal(t, len(ids.FindAllString(text, -1)), 4)
		text = ids.ReplaceAllString(text, `"ID"`)
		text = regexp.MustCompile(`"version":"[^"]*",?`).ReplaceAllString(text, "")
		text = strings.Replace(text, `telemetry",}`, `telemetry"}`, 1)
		const attributes = `"attributes":[{"key":"mcp.method.name","value":{"stringValue":"tools/call"}},` +
			`{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},` +
			`{"key":"gen_ai.tool.name","value":{"stringValue":"get"}},` +
			`{"key":"network.transport","value":{"stringValue":"tcp"}},` +
			`{"key":"network.protocol.name","value":{"stringValue":"http"}},` +
			`{"key":"server.address","value":{"stringValue":"example.com"}},` +
			`{"key":"server.port","value":{"intValue":"8080"}},` +
			`{"key":"service.peer.name","value":{"stringValue":"weather"}},` +
			`{"key":"jsonrpc.request.id","value":{"stringValue":"7"}}`
		assert.Equal(t, text, `{"resourceSpans":[{"resource":{"attributes":[`+
			`{"key":"service.name","value":{"stringValue":"we\"ather\\\n"}},`+
			`{"key":"process.pid","value":{"intValue":"7"}},`+
			`{"key":"test","value":{"boolValue":true}},`+
			`{"key":"share","value":{"doubleValue":0.5}}]},"scopeSpans":[{"scope":{"name":`+
			`"github.com/stdwire/stdwire/rpc/mcp/telemetry"},"spans":[{"ID","ID",`+
			`"traceState":"a=1","parentSpanId":"`+clientSpan+`","flags":769,`+
			`"name":"tools/call get","kind":3,"startTimeUnixNano":"946684800000000000",`+
			`"endTimeUnixNano":"946684800030000000",`+attributes+`]},{"ID","ID","flags":257,`+
			`"name":"tools/call get","kind":3,"startTimeUnixNano":"946684800030000000",`+
			`"endTimeUnixNano":"946684805030000000",`+attributes+
			`,{"key":"error.type","value":{"stringValue":"-32000"}},`+
			`{"key":"rpc.response.status_code","value":{"stringValue":"-32000"}}],`+
			`"status":{"code":2,"message":"no \"city\""}}]}]}]}`)
	})
}

func TestAppendMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := string(recorded().AppendMetrics(nil))
		assert.Assert(t, json.Valid([]byte(text)))
		const times = `"startTimeUnixNano":"946684800000000000","timeUnixNano":"946684805030000000",`
		for _, want := range []string{
			`"unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"attributes":[`,
			times + `"count":"1","sum":0.03,"bucketCounts":["0","0","1","0","0","0","0","0","0",` +
				`"0","0","0","0","0","0"],"explicitBounds":[0.01,0.02,0.05,0.1,0.2,0.5,1,2,5,10,` +
				`30,60,120,300]}`,
			`{"name":"app.visits","description":"Visits,\nby \\city.","unit":"{visit}","sum":{` +
				`"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[`,
			times + `"asDouble":3}`,
			`"gauge":{"dataPoints":[{"attributes":[],` + times + `"asDouble":0.25}]}`,
		} {
			assert.Assert(t, strings.Contains(text, want), "%s\nin\n%s", want, text)
		}
	})
}

func TestString(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all map[string][]struct {
			Attributes        map[string]string
			Value, Count, Sum float64
		}
		assert.NilError(t, json.Unmarshal([]byte(recorded().String()), &all))
		assert.Equal(t, all["app.visits"][0].Value, 3.0)
		assert.Equal(t, all["app.visits"][0].Attributes["a.b"], "y")
		durations := all["mcp.client.operation.duration"]
		assert.Equal(t, len(durations), 2)
		assert.Equal(t, durations[0].Count, 1.0)
		assert.Equal(t, durations[0].Sum+durations[1].Sum, 5.03)
	})
}

// A callback of a gauge that misbehaves affects no other metric.
func TestGaugeCallback(t *testing.T) {
	tel := telemetry.Options{}.New()
	var kept func(float64, ...string)
	tel.Gauge(telemetry.Instrument{Name: "g", Labels: []string{"l"}},
		func(set func(float64, ...string)) {
			kept = set
			set(1, "a")
			set(2, "a")
			panic("no more")
		})
	m := find(t, tel, "g")
	assert.Equal(t, len(m.Points), 1)
	assert.Equal(t, m.Points[0].Value, 2.0)
	kept(3, "a")
	assert.Equal(t, m.Points[0].Value, 2.0)
}

func TestInstrumentNames(t *testing.T) {
	tel := telemetry.Options{}.New()
	tel.Counter(telemetry.Instrument{Name: "visits"})
	for _, i := range []telemetry.Instrument{{Name: ""}, {Name: "9a"}, {Name: "a b"},
		{Name: strings.Repeat("a", 256)}, {Name: "visits"}, {Name: "visits_total"},
		{Name: "mcp.server.operation.duration", Unit: "s"},
		{Name: "many", Labels: make([]string, 7)}} {
		func() {
			defer func() { assert.Assert(t, recover() != nil, "%q", i.Name) }()
			if i.Unit == "s" {
				tel.Gauge(i, nil)
			} else {
				tel.Counter(i)
			}
		}()
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestWritePrometheusError(t *testing.T) {
	assert.ErrorContains(t, telemetry.Options{}.New().WritePrometheus(brokenWriter{}), "broken")
}

// Spans that are encoded together share the encoding of attributes. The result is the same, byte by
// byte, as that of encoding each span alone.
func TestAppendTracesTogether(t *testing.T) {
	tel := telemetry.Options{}.New()
	in := tel.Incoming(telemetry.Endpoint{})
	out := tel.Outgoing(telemetry.Endpoint{Transport: "tcp", Address: "a", Port: 1, Service: "b"})
	for range 2 {
		for _, params := range []string{`{"name":"x"}`, `{"name":"y"}`, `{}`, `{"uri":"z:1"}`,
			`{"uri":"z:2","name":"x"}`} {
			for _, method := range []string{mcp.MethodCallTool, mcp.MethodGetPrompt,
				mcp.MethodReadResource, mcp.MethodPing, "x/y"} {
				handle(in, method, params, json.RawMessage(`{}`), nil)
				handle(in, method, params, nil, rpc.ErrInvalidParams)
				handle(out, method, params, json.RawMessage(`{"isError":true}`), nil)
			}
		}
		_, span := tel.StartSpan(t.Context(), "work", telemetry.SpanKindInternal, slog.Int("n", 1))
		span.End(nil)
		_, span = tel.StartSpan(t.Context(), "work", telemetry.SpanKindInternal)
		span.End(nil)
	}
	spans := take(tel)
	assert.Equal(t, len(spans), 2*(5*5*3+2))
	begin, end, _ := strings.Cut(string(tel.AppendTraces(nil, nil)), `"spans":[`)
	begin += `"spans":[`
	var alone []string
	for i := range spans {
		text := string(tel.AppendTraces(nil, spans[i:i+1]))
		alone = append(alone, strings.TrimSuffix(strings.TrimPrefix(text, begin), end))
		for _, a := range spans[i].Attributes() {
			assert.Assert(t, strings.Contains(text, `{"key":"`+a.Key+`","value":{`), text)
		}
	}
	want := begin + strings.Join(alone, ",") + end
	assert.Equal(t, string(tel.AppendTraces(nil, spans)), want)
}
