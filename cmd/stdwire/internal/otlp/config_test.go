package otlp_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/otlp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// configure returns the configuration of variables written NAME=VALUE.
func configure(endpoint string, variables ...string) (*otlp.Config, []string, error) {
	return otlp.Configure(func(name string) string {
		for _, v := range variables {
			if key, value, _ := strings.Cut(v, "="); key == name {
				return value
			}
		}
		return ""
	}, endpoint)
}

func TestEndpoints(t *testing.T) {
	const base = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for _, tt := range []struct {
		flag            string
		variables       []string
		traces, metrics string
		warnings        int
	}{
		{"", nil, "", "", 0},
		{"", []string{base}, "http://c:4318/v1/traces", "http://c:4318/v1/metrics", 0},
		{"", []string{base + "/otlp/"}, "http://c:4318/otlp/v1/traces",
			"http://c:4318/otlp/v1/metrics", 0},
		{"https://f/x", []string{base, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "https://f/x/v1/traces",
			"https://f/x/v1/metrics", 0},
		{"", []string{base, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/in"}, "http://t/in",
			"http://c:4318/v1/metrics", 0},
		{"", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://m"}, "", "http://m", 0},
		{"", []string{base, "OTEL_SDK_DISABLED=true"}, "", "", 0},
		{"http://f", []string{"OTEL_SDK_DISABLED=True"}, "", "", 0},
		{"", []string{base, "OTEL_SDK_DISABLED=no"}, "http://c:4318/v1/traces",
			"http://c:4318/v1/metrics", 0},
		{"", []string{base, "OTEL_TRACES_EXPORTER=none"}, "", "http://c:4318/v1/metrics", 0},
		{"", []string{base, "OTEL_METRICS_EXPORTER=prometheus"}, "http://c:4318/v1/traces", "", 1},
		{"", []string{"OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4318/v1/traces", "", 0},
		{"", []string{base, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, "http://c:4318/v1/traces",
			"http://c:4318/v1/metrics", 0},
		{"", []string{base, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, "http://c:4318/v1/traces",
			"http://c:4318/v1/metrics", 1},
		{"", []string{base, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "", "", 1},
		{"", []string{base, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc"}, "",
			"http://c:4318/v1/metrics", 1},
	} {
		c, warnings, err := configure(tt.flag, tt.variables...)
		assert.NilError(t, err, tt.variables)
		assert.Equal(t, c.Traces.URL, tt.traces, tt.variables)
		assert.Equal(t, c.Metrics.URL, tt.metrics, tt.variables)
		assert.Equal(t, len(warnings), tt.warnings, "%s", warnings)
		assert.Equal(t, c.Enabled(), tt.traces+tt.metrics != "")
	}
	for _, v := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318",
		"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://secret@c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"} {
		name, _, _ := strings.Cut(v, "=")
		c, warnings, err := configure("", v)
		assert.NilError(t, err)
		assert.Assert(t, !c.Enabled())
		assert.Equal(t, len(warnings), 1)
		assert.Assert(t, cmp.Contains(warnings[0], name+" is not a URL"))
		assert.Assert(t, !strings.Contains(warnings[0], "secret"))
		_, value, _ := strings.Cut(v, "=")
		_, _, err = configure(value)
		assert.ErrorContains(t, err, "--otlp is not a URL")
	}
}

// Headers are decoded, those of a signal replace the others, and no warning repeats one.
func TestHeaders(t *testing.T) {
	c, warnings, err := configure("http://c",
		"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20c2VjcmV0PQ==, x-a = 1,,broken-secret,x-b=a%0asecret",
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS=x-m=2")
	assert.NilError(t, err)
	assert.DeepEqual(t, c.Traces.Headers,
		http.Header{"Authorization": {"Basic c2VjcmV0PQ=="}, "X-A": {"1"}})
	assert.DeepEqual(t, c.Metrics.Headers, http.Header{"X-M": {"2"}})
	assert.Equal(t, len(warnings), 2)
	assert.Assert(t, !strings.Contains(strings.Join(warnings, ""), "secret"), warnings)
	assert.Assert(t, cmp.Contains(warnings[0], "member 4 is ignored"))
}

func TestResource(t *testing.T) {
	for _, tt := range []struct {
		variables []string
		want      string
	}{
		{nil, "[service.name=stdwire]"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=service.name=a,d.name=pre%2Cprod,b="},
			"[service.name=a b= d.name=pre,prod]"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=service.name=a", "OTEL_SERVICE_NAME=x"},
			"[service.name=x]"},
	} {
		c, warnings, err := configure("", tt.variables...)
		assert.NilError(t, err)
		assert.Equal(t, len(warnings), 0)
		assert.Equal(t, fmt.Sprint(c.Resource), tt.want)
	}
}

func TestSampler(t *testing.T) {
	for _, tt := range []struct {
		name, arg string
		warnings  int
	}{
		{"", "", 0}, {"", "0.5", 0}, {"always_off", "", 0}, {"Traceidratio", "0.25", 0},
		{"parentbased_traceidratio", "0", 0}, {"traceidratio", "NaN", 1}, {"traceidratio", "2", 1},
		{"jaeger_remote", "", 1},
	} {
		c, warnings, err := configure("http://c", "OTEL_TRACES_SAMPLER="+tt.name,
			"OTEL_TRACES_SAMPLER_ARG="+tt.arg)
		assert.NilError(t, err)
		assert.Equal(t, len(warnings), tt.warnings, warnings)
		var want telemetry.Sampler // that of a mistake
		if tt.warnings == 0 {
			want, err = telemetry.ParseSampler(strings.ToLower(tt.name), tt.arg)
			assert.NilError(t, err)
		}
		assert.Equal(t, c.Sampler, want, tt.name)
	}
}

func TestDurations(t *testing.T) {
	c, warnings, err := configure("http://c")
	assert.NilError(t, err)
	assert.Equal(t, len(warnings), 0)
	assert.Equal(t, c.Interval, time.Minute)
	assert.Equal(t, c.Traces.Timeout, 10*time.Second)
	standard := otlp.Batch{Queue: 2048, Size: 512, Delay: 5 * time.Second,
		Timeout: 30 * time.Second}
	assert.Equal(t, c.Batch, standard)

	c, warnings, err = configure("http://c", "OTEL_METRIC_EXPORT_INTERVAL=500",
		"OTEL_EXPORTER_OTLP_TIMEOUT=2000", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=3000",
		"OTEL_BSP_MAX_QUEUE_SIZE=100", "OTEL_BSP_SCHEDULE_DELAY=-1", "OTEL_BSP_EXPORT_TIMEOUT=soon")
	assert.NilError(t, err)
	assert.Equal(t, len(warnings), 2, warnings)
	assert.Equal(t, c.Interval, 500*time.Millisecond)
	assert.Equal(t, c.Traces.Timeout, 2*time.Second)
	assert.Equal(t, c.Metrics.Timeout, 3*time.Second)
	standard.Queue, standard.Size = 100, 100
	assert.Equal(t, c.Batch, standard)
}

// A collector with a certificate of one's own is reached over TLS.
func TestCertificate(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	assert.NilError(t, os.WriteFile(file, text, 0o600))
	c, _, err := configure(s.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+file)
	assert.NilError(t, err)
	exporter := otlp.Start(c, logTo(t, new(strings.Builder)))
	exporter.Traces([]byte(`{}`))
	exporter.Close(t.Context())
	assert.Equal(t, <-got, "/v1/traces")
	assert.Equal(t, exporter.Dropped(), int64(0))

	_, _, err = configure(s.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+file+".missing")
	assert.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_CERTIFICATE: ")
	assert.NilError(t, os.WriteFile(file, []byte("none"), 0o600))
	_, _, err = configure(s.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+file)
	assert.ErrorContains(t, err, "has no certificate in PEM")
}
