package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

func TestMetricsAddress(t *testing.T) {
	for value, want := range map[string]string{":9464": "127.0.0.1:9464", "0.0.0.0:1": "0.0.0.0:1",
		"[::1]:0": "[::1]:0", "9464": "", "localhost": "", "localhost:": ""} {
		got, err := metricsAddress(value)
		assert.Equal(t, got, want)
		assert.Equal(t, err == nil, want != "", value)
	}
}

func TestListener(t *testing.T) {
	var f Flags
	assert.NilError(t, f.Flags()[1].Set(":0"))
	t.Setenv("OTEL_SERVICE_NAME", "weather")
	std := termtest.Capture(false)
	var log bytes.Buffer
	r, err := f.Open(std.Streams, slog.New(slog.NewTextHandler(&log, nil)))
	assert.NilError(t, err)
	defer r.Close()
	r.Counter(telemetry.Instrument{Name: "my.calls", Labels: []string{"tool"}}).Add(3, "a")
	base := "http://" + r.listener.Addr().String()
	assert.Assert(t, cmp.Contains(std.Stderr.String(), base+"/metrics"))
	get := func(host, path string) (status int, kind, body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		assert.NilError(t, err)
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		assert.NilError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		return answer.StatusCode, answer.Header.Get("Content-Type"), string(text)
	}
	for _, host := range []string{"", "localhost", "localhost:80", "127.0.0.1", "[::1]:1"} {
		status, kind, body := get(host, "/metrics")
		assert.Equal(t, status, 200, host)
		assert.Equal(t, kind, telemetry.PrometheusContentType)
		assert.Assert(t, cmp.Contains(body, `my_calls_total{tool="a"} 3`))
		assert.Assert(t, cmp.Contains(body, `service_name="weather"`))
	}
	for _, host := range []string{"evil.example", "localhost.evil.example:80", "192.0.2.1"} {
		status, _, body := get(host, "/metrics")
		assert.Equal(t, status, 403, host)
		assert.Assert(t, !strings.Contains(body, "my_calls"))
	}
	status, _, body := get("", "/debug/vars")
	assert.Equal(t, status, 200)
	var vars struct {
		MCP map[string]any `json:"mcp"`
	}
	assert.NilError(t, json.Unmarshal([]byte(body), &vars))
	assert.Assert(t, vars.MCP["my.calls"] != nil, body)
	assert.Assert(t, !strings.Contains(body, "cmdline"))
	status, _, _ = get("", "/")
	assert.Equal(t, status, 404)
}

// Without flags and variables nothing is added to the options of a server or client.
func TestOff(t *testing.T) {
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+signal+"ENDPOINT", "")
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "")
	t.Setenv("OTEL_METRICS_EXPORTER", "")
	r, err := new(Flags).Open(termtest.Capture(false).Streams, slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	defer r.Close()
	for _, r := range []*Recorder{r, nil} {
		var serverOptions server.Options
		var clientOptions client.Options
		r.Server(&serverOptions)
		r.Client(&clientOptions, "a")
		assert.Equal(t, len(serverOptions.Middleware)+len(serverOptions.Outgoing), 0)
		assert.Equal(t, len(clientOptions.Middleware)+len(clientOptions.Outgoing), 0)
		log := slog.New(slog.DiscardHandler)
		assert.Equal(t, r.Logger(log), log)
		mux := http.NewServeMux()
		assert.Equal(t, r.Handler(mux), http.Handler(mux))
	}
}

// The header traceparent of a request makes it part of that trace. One that is not valid, or a
// tracestate that is not, is ignored.
func TestHandler(t *testing.T) {
	r := &Recorder{Telemetry: telemetry.Options{}.New()}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, tt := range []struct{ parent, state, wantParent, wantState string }{
		{parent, "a=1", parent, "a=1"}, {parent, "=", parent, ""}, {"00-0-0-0", "a=1", "", ""},
		{"", "a=1", "", ""},
	} {
		request := httptest.NewRequest("POST", "/", nil)
		request.Header.Set("traceparent", tt.parent)
		request.Header.Set("tracestate", tt.state)
		called := false
		r.Handler(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
			called = true
			got := telemetry.SpanContextFrom(request.Context())
			assert.Equal(t, got.IsValid(), tt.wantParent != "")
			if got.IsValid() {
				assert.Equal(t, got.Traceparent(), tt.wantParent)
			}
			assert.Equal(t, got.State, tt.wantState)
		})).ServeHTTP(httptest.NewRecorder(), request)
		assert.Assert(t, called)
	}
}

// A server that is defined again, after its configuration has changed, continues its series.
func TestClientAgain(t *testing.T) {
	r := &Recorder{Telemetry: telemetry.Options{}.New()}
	for range 2 {
		var o client.Options
		r.Client(&o, "files")
		send := rpc.Chain(func(context.Context, *rpc.Request) (any, error) { return nil, nil },
			o.Outgoing...)
		_, err := send(t.Context(), &rpc.Request{Method: "ping"})
		assert.NilError(t, err)
	}
	var text strings.Builder
	assert.NilError(t, r.WritePrometheus(&text))
	assert.Equal(t, strings.Count(text.String(), "mcp_client_operation_duration_seconds_count{"), 1)
	assert.Assert(t, cmp.Contains(text.String(), `service_peer_name="files"`))
}
