package main

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// serve --warm-lists stores the lists of all servers, and its exit code says that some are missing.
func TestWarmLists(t *testing.T) {
	ownHome(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(servers obj) {
		assert.NilError(t, os.WriteFile(path, configText(t, servers), 0o600))
	}
	write(obj{"a": good(), "b": good()})
	got := run(t, "serve", "--config", path, "--warm-lists")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "the lists of 2 servers are stored"))
	got = run(t, "serve", "--config", path, "--warm-lists", "--wait-lists", "5m")
	assert.Equal(t, got.code, 0, got.stderr)
	write(obj{"a": good(), "broken": obj{"command": "no-such-program-anywhere"}})
	got = run(t, "serve", "--config", path, "--warm-lists")
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "not all lists of broken could be fetched"))
	assert.Equal(t, run(t, "serve", "--warm-lists").code, 2)
	assert.Equal(t, run(t, "serve", "--wait-lists", "1m").code, 2)
}
