package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// An exportedSpan is a span that a collector got, in the JSON of OTLP.
type exportedSpan struct {
	TraceID  string `json:"traceId"`
	SpanID   string `json:"spanId"`
	ParentID string `json:"parentSpanId"`
	Name     string `json:"name"`
	Kind     int    `json:"kind"`
}

// The kinds of spans in OTLP.
const (
	serverKind = 2
	clientKind = 3
)

// A testCollector is an OpenTelemetry collector.
type testCollector struct {
	url string

	mu      sync.Mutex
	spans   []exportedSpan
	metrics []string // bodies
}

func newTestCollector(t *testing.T) *testCollector {
	t.Helper()
	c := new(testCollector)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.Check(t, err)
		c.mu.Lock()
		defer c.mu.Unlock()
		switch r.URL.Path {
		case "/v1/metrics":
			assert.Check(t, json.Valid(body))
			c.metrics = append(c.metrics, string(body))
		case "/v1/traces":
			var request struct {
				ResourceSpans []struct {
					ScopeSpans []struct {
						Spans []exportedSpan `json:"spans"`
					} `json:"scopeSpans"`
				} `json:"resourceSpans"`
			}
			assert.Check(t, json.Unmarshal(body, &request))
			for _, r := range request.ResourceSpans {
				for _, s := range r.ScopeSpans {
					c.spans = append(c.spans, s.Spans...)
				}
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// chain returns the kinds and names of the spans from one without a parent to the only span of
// that kind and name that has no child.
func (c *testCollector) chain(t *testing.T, kind int, name string) (all []exportedSpan) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := make(map[string]exportedSpan)
	parents := make(map[string]bool)
	for _, s := range c.spans {
		byID[s.SpanID], parents[s.ParentID] = s, true
	}
	var last []exportedSpan
	for _, s := range c.spans {
		if s.Kind == kind && s.Name == name && !parents[s.SpanID] {
			last = append(last, s)
		}
	}
	assert.Equal(t, len(last), 1, "%v", c.spans)
	for s, ok := last[0], true; ok; s, ok = byID[s.ParentID] {
		all = append([]exportedSpan{s}, all...)
	}
	return all
}

// One call through a gateway is one trace, with the spans of all three processes.
func TestOneTrace(t *testing.T) {
	ownHome(t)
	c := newTestCollector(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"files": map[string]any{"command": self,
			"args": []string{"serve", "--root", dir, "--otlp", c.url}}}})
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	got := run(t, "call", "files__fs_read", "path=a.txt", "--otlp", c.url, "--", self, "serve",
		"--config", path, "--otlp", c.url)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "hello"))
	assert.Equal(t, got.stderr, "")

	spans := c.chain(t, serverKind, "tools/call fs_read")
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
		assert.Equal(t, s.TraceID, spans[0].TraceID)
	}
	assert.DeepEqual(t, names, []string{"stdwire call", "tools/call files__fs_read",
		"tools/call files__fs_read", "tools/call fs_read", "tools/call fs_read"})
	metrics := strings.Join(c.metrics, "\n")
	for _, name := range []string{"mcp.client.operation.duration", "mcp.server.operation.duration",
		"stdwire.gateway.servers"} {
		assert.Assert(t, cmp.Contains(metrics, `"name":"`+name+`"`))
	}
}

// A collector that is down fails no call, and its secrets are not printed.
func TestCollectorIsDown(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
	got := run(t, "call", "fs_list")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "telemetry was not exported"))
	assert.Assert(t, !strings.Contains(got.stderr, "secret"), got.stderr)

	t.Setenv("OTEL_SDK_DISABLED", "true")
	got = run(t, "call", "fs_list")
	assert.Equal(t, got.code, 0)
	assert.Equal(t, got.stderr, "")

	got = run(t, "call", "fs_list", "--otlp", "localhost:4318")
	assert.Equal(t, got.code, 0, "it is disabled")
	t.Setenv("OTEL_SDK_DISABLED", "")
	got = run(t, "call", "fs_list", "--otlp", "localhost:4318")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "--otlp is not a URL"))
	got = run(t, "call", "fs_list", "--metrics", "9464")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, `"9464" is not an address`))
	got = run(t, "bridge", "--metrics", ":0", "--", "x")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "--metrics is for a server that is served over"))
}
