//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// The limits of the configuration are those of the start; a change waits for the next one, and a
// wrong one changes nothing.
func TestLimitsOfConfiguration(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(limits string) {
		assert.NilError(t,
			os.WriteFile(path, []byte(`{"mcpServers": {}, "limits": `+limits+`}`), 0o600))
	}
	write(`{"maxBody": 2048, "maxSessions": 1}`)
	s := servingFile(t, path, "--no-auth", "--root", t.TempDir())
	address := strings.TrimSuffix(s.endpoint(), "/mcp")
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	post := func(path, body string) int {
		t.Helper()
		request, err := http.NewRequest(http.MethodPost, address+path, strings.NewReader(body))
		assert.NilError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(request)
		assert.NilError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	large := `{"action":"list","params":{"path":"` + strings.Repeat("x", 2048) + `"}}`
	assert.Equal(t, post("/v1/fs", large), http.StatusRequestEntityTooLarge)
	assert.Equal(t, post("/mcp", large), http.StatusRequestEntityTooLarge)
	assert.Equal(t, post("/mcp", initialize), http.StatusOK)
	assert.Equal(t, post("/mcp", initialize), http.StatusServiceUnavailable)

	write(`{"maxBody": 4096}`)
	s.says("warning: the limits of the configuration have changed; the next start uses them")
	assert.Equal(t, post("/v1/fs", large), http.StatusRequestEntityTooLarge)
	write(`{"maxBody": 1}`)
	s.says("limits.maxBody must be a whole number from 1024 to 1073741824")

	got := run(t, "serve", "--config", path)
	assert.Equal(t, got.code, 8, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "mcp.json:1:42: limits.maxBody must be"),
		got.stderr)
}
