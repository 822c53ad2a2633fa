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

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A gateway serves the metrics that the page telemetry lists, and its main listener has none.
func TestMetrics(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
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
	waitFor(t, func() string { // until the first lists are known
		status, body := get(base + "/readyz")
		assert.Assert(t, !strings.Contains(body, "gone"), body)
		if status != 200 || !strings.Contains(body, `"degraded":true`) {
			return body
		}
		return ""
	})

	waitFor(t, func() string {
		_, metrics = get(metricsURL)
		if !strings.Contains(metrics, `stdwire_gateway_servers{server="hand",state="ready"} 1`) {
			return metrics
		}
		return ""
	})
	assert.Assert(t, cmp.Contains(metrics, "stdwire_http_authorization_failures_total 1\n"))
	assert.Assert(t, cmp.Contains(metrics, `service_peer_name="hand"`))
	unset := map[string]bool{ // nothing was received or withheld, and there is no store
		"mcp_server_operation_duration_seconds": true, "stdwire_gateway_withheld": true,
		"stdwire_store_used": true}
	names := regexp.MustCompile(`(?m)^  ((?:mcp|stdwire)_[a-z_]+)  `).FindAllStringSubmatch(
		page(t, "telemetry"), -1)
	assert.Equal(t, len(names), 11)
	for _, m := range names {
		assert.Equal(t, strings.Contains(metrics, "# TYPE "+m[1]+" "), !unset[m[1]], m[1])
	}
}

// With --metrics-token-env the main listener has the metrics, for those who have the token.
func TestMetricsToken(t *testing.T) {
	ownRuntime(t)
	const token = "a token for Prometheus"
	t.Setenv("SCRAPE", token)
	g := serving(t, obj{"hand": good()}, "--no-auth", "--metrics-token-env", "SCRAPE")
	_, url, _ := strings.Cut(g.serving, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	base := strings.TrimSuffix(url, "/mcp")
	get := func(authorization string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/metrics", nil)
		assert.NilError(t, err)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		answer, err := http.DefaultClient.Do(r)
		assert.NilError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		return answer, string(text)
	}
	for _, wrong := range []string{"", "Bearer", "Bearer a token for Prometheu", "Basic " + token} {
		answer, body := get(wrong)
		assert.Equal(t, answer.StatusCode, 401, wrong)
		assert.Equal(t, answer.Header.Get("WWW-Authenticate"), `Bearer realm="metrics"`)
		assert.Assert(t, !strings.Contains(body, "stdwire_"), body)
	}
	answer, metrics := get("Bearer " + token)
	assert.Equal(t, answer.StatusCode, 200, metrics)
	assert.Assert(t, cmp.Contains(metrics, "stdwire_http_authorization_failures_total 4\n"))
	assert.Assert(t, cmp.Contains(metrics, `stdwire_server_sessions{transport="http"} 0`))
	assert.Assert(t, cmp.Contains(metrics, `stdwire_server_sessions{transport="socket"} 0`))
	// an earlier request's connection may not have been idle yet when the next one needed one
	assert.Assert(t, cmp.Regexp(`(?m)^stdwire_http_connections [1-9]`, metrics))
	assert.Assert(t, cmp.Contains(metrics, "stdwire_http_streams 0\n"))

	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	assert.NilError(t, err)
	r.Header.Set("Content-Type", "application/json")
	answer, err = http.DefaultClient.Do(r)
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	r, err = http.NewRequestWithContext(t.Context(), "GET", url, nil)
	assert.NilError(t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", answer.Header.Get("Mcp-Session-Id"))
	stream, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer stream.Body.Close()
	_, metrics = get("Bearer " + token)
	assert.Assert(t, cmp.Contains(metrics, `stdwire_server_sessions{transport="http"} 1`))
	assert.Assert(t, cmp.Contains(metrics, "stdwire_http_streams 1\n"))
	// the connection of the first requests may have been closed meanwhile, or serve the stream
	assert.Assert(t, cmp.Regexp(`(?m)^stdwire_http_connections [1-9]`, metrics))

	for _, tt := range []struct{ token, want string }{{"", "is empty"},
		{"short", "has fewer than 16 bytes"}, {token, "add --http ADDR"}} {
		t.Setenv("SCRAPE", tt.token)
		got := run(t, "serve", "--metrics-token-env", "SCRAPE")
		assert.Equal(t, got.code, 2)
		assert.Assert(t, cmp.Contains(got.stderr, tt.want))
		assert.Assert(t, tt.token == "" || !strings.Contains(got.stderr, tt.token), got.stderr)
	}
}
