//go:build linux

package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// Prometheus's own checker accepts the exposition, and suggests no improvement.
func TestPromtoolChecksMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: it is in Debian's package prometheus")
	}
	tel := telemetry.Options{
		Resource: []slog.Attr{slog.String("service.name", "a \"b\" \\ \n é")}}.New()
	for _, m := range []rpc.Middleware{tel.Incoming(telemetry.Endpoint{}),
		tel.Outgoing(telemetry.Endpoint{Transport: "tcp", Address: "example.com", Port: 443})} {
		for _, failure := range []error{nil, rpc.ErrInvalidParams} {
			_, _ = m(func(context.Context, *rpc.Request) (any, error) { return nil, failure })(
				t.Context(), &rpc.Request{Method: mcp.MethodCallTool,
					Params: json.RawMessage(`{"name":"a\"\\\n"}`)})
		}
	}
	tel.Counter(telemetry.Instrument{Name: "app.visits", Unit: "{visit}",
		Description: "Visits.\nOf \\cities.", Labels: []string{"city"}}).Add(1, "Os\"lo\\\n")
	tel.Gauge(telemetry.Instrument{Name: "app.size", Unit: "By", Description: "Bytes."},
		func(set func(float64, ...string)) { set(1e9) })
	var text bytes.Buffer
	assert.NilError(t, tel.WritePrometheus(&text))
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(text.Bytes())
	out, err := check.CombinedOutput()
	assert.NilError(t, err, "%s\n%s", out, text.Bytes())
	assert.Equal(t, string(out), "")
}
