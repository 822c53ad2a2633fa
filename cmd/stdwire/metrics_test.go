//go:build unix

package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A gateway serves the metrics that the page telemetry lists, and its main listener has none.
func TestMetrics(t *testing.T) {
	ownRuntime(t)
	g := serving(t, obj{"hand": good(), "gone": obj{"command": "no-such-program-anywhere"}},
		"--metrics", ":0")
	var metrics, metricsURL string
	for _, line := range g.heard {
		if _, after, ok := strings.Cut(line, "serving metrics at "); ok {
			metricsURL = after
		}
	}
	assert.Assert(t, strings.HasPrefix(metricsURL, "http://127.0.0.1:"), g.heard)
	_, url, _ := strings.Cut(g.serving, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	get := func(url string) (status int, body string) {
		t.Helper()
		answer, err := http.Get(url)
		assert.NilError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		return answer.StatusCode, string(text)
	}
	answer, err := http.Post(url, "application/json", strings.NewReader(`{}`))
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, 401)
	base := strings.TrimSuffix(url, "/mcp")
	status, _ := get(base + "/metrics")
	assert.Equal(t, status, 404)
	status, body := get(base + "/readyz")
	assert.Equal(t, status, 503, body)
	assert.Assert(t, !strings.Contains(body, "gone"), body)

	waitFor(t, func() string {
		_, metrics = get(metricsURL)
		if !strings.Contains(metrics, `stdwire_gateway_servers{server="hand",state="ready"} 1`) {
			return metrics
		}
		return ""
	})
	assert.Assert(t, cmp.Contains(metrics, "stdwire_http_authorization_failures_total 1\n"))
	assert.Assert(t, cmp.Contains(metrics, `service_peer_name="hand"`))
	unset := map[string]bool{ // nothing was received or withheld
		"mcp_server_operation_duration_seconds": true, "stdwire_gateway_withheld": true}
	names := regexp.MustCompile(`(?m)^  ((?:mcp|stdwire)_[a-z_]+)  `).FindAllStringSubmatch(
		page(t, "telemetry"), -1)
	assert.Equal(t, len(names), 7)
	for _, m := range names {
		assert.Equal(t, strings.Contains(metrics, "# TYPE "+m[1]+" "), !unset[m[1]], m[1])
	}
}
