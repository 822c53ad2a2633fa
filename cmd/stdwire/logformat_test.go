package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// records checks that every line is a JSON object with these members.
func records(t *testing.T, stderr string) (all []map[string]string) {
	t.Helper()
	for line := range strings.Lines(stderr) {
		var r map[string]string
		assert.NilError(t, json.Unmarshal([]byte(line), &r), line)
		assert.Assert(t, r["time"] != "" && r["level"] != "" && r["msg"] != "", line)
		all = append(all, r)
	}
	return all
}

// With --log-format json every line on stderr is JSON: messages, warnings, and the error at the
// end.
func TestLogFormatJSON(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	got := run(t, "serve", "--log-format", "json", "--http", "127.0.0.1:none")
	assert.Equal(t, got.code, 2)
	all := records(t, got.stderr)
	assert.Equal(t, all[0]["level"], "ERROR")
	assert.Assert(t, strings.HasPrefix(all[0]["msg"], "serve: "), got.stderr)

	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":""}}}`), 0o600))
	// A process of its own, because a server on stdio takes the standard streams.
	cmd, _, stderr := stdwire(t, "serve", "--log-format", "json", "--log-level", "error",
		"--config", path)
	assert.NilError(t, cmd.Run(), stderr)
	all = records(t, stderr.String())
	assert.Assert(t, len(all) > 0 && strings.Contains(all[0]["msg"], "command"), stderr)
}
