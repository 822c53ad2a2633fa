//go:build linux

package conformance_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A call from the command line through a gateway to a server in TypeScript is one trace: the server
// gets the identity of the span that the gateway exports to the collector.
func TestTraceOfTypeScriptServer(t *testing.T) {
	script, err := os.ReadFile("node/traceserver.mjs")
	assert.NilError(t, err)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			b := newNodeBench(t)
			b.write("traceserver.mjs", string(script))
			type span struct {
				Trace  string `json:"traceId"`
				Span   string `json:"spanId"`
				Parent string `json:"parentSpanId"`
				Name   string `json:"name"`
			}
			var mu sync.Mutex
			spans := make(map[string]span) // by ID
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
				r *http.Request) {
				body, err := io.ReadAll(r.Body)
				assert.Check(t, err)
				var request struct {
					ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
				}
				assert.Check(t, json.Unmarshal(body, &request))
				mu.Lock()
				defer mu.Unlock()
				for _, r := range request.ResourceSpans {
					for _, s := range r.ScopeSpans {
						for _, one := range s.Spans {
							spans[one.Span] = one
						}
					}
				}
			}))
			defer collector.Close()
			gateway := b.gateway(map[string]configured{
				"ts": {Command: "node", Args: []string{b.path("traceserver.mjs")}, Era: era}},
				"--otlp", collector.URL)
			o := b.run(append([]string{binary(t), "call", "ts__trace", "-o", "raw", "--otlp",
				collector.URL, "--"}, gateway...)...)
			assert.Equal(t, o.code, 0, "%v", o)
			got, err := telemetry.ParseSpanContext(strings.TrimSpace(o.stdout))
			assert.NilError(t, err, "%v", o)
			assert.Assert(t, got.Sampled)

			mu.Lock()
			defer mu.Unlock()
			var names []string
			for id := got.Span.String(); id != ""; id = spans[id].Parent {
				assert.Equal(t, spans[id].Trace, got.Trace.String())
				names = append(names, spans[id].Name)
			}
			assert.DeepEqual(t, names, []string{"tools/call trace", "tools/call ts__trace",
				"tools/call ts__trace", "stdwire call"})
			b.ended()
		})
	}
}
