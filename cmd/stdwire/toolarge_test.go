package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A message over the limit does not end the server, and the error says how to raise the limit.
func TestCallOfTooLargeResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, sent, limit, hint string
	}{
		{"call big mb:=70", "78.0 MB", "67.1 MB", "78"},
		{"call big --max-message 1", "5.6 MB", "1.0 MB", "6"},
		// not read to its end
		{"call big mb:=20 --max-message 1", "16.0 MB", "1.0 MB", "17"},
	} {
		got := against(t, tt.args, "good")
		assert.Equal(t, got.stderr,
			fmt.Sprintf("stdwire: %s: big: the server sent a message of %s or more, and the limit is %s\nhint: allow more: --max-message %s\n",
				self, tt.sent, tt.limit, tt.hint))
		assert.Equal(t, got.code, 7)
		assert.Equal(t, got.stdout, "")
	}
	got := against(t, "call big mb:=70 --max-message 78", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, len(got.stdout), 70<<20)
	got = against(t, "call big --max-message 0", "good")
	assert.Equal(t, got.code, 2, got.stderr)
	got = against(t, "call big --max-message many", "good")
	assert.Equal(t, got.code, 2, got.stderr)
}

// A result of maxResult bytes can be received.
func TestMaxResultIsReceived(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	executable, err := os.Executable()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(path,
			fmt.Appendf(nil,
				`{"mcpServers":{"more":{"command":%q,"args":["fixture:good"],"maxResult":100000000},"less":{"command":%q,"args":["fixture:good"]}}}`,
				executable, executable), 0o600))
	got := run(t, "call", "-s", "more", "--config", path, "big", "mb:=70")
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "run", "--config", path, "less", "big", "--yes", "--json", `{"mb":70}`)
	assert.Equal(t, got.code, 7, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "the server sent a message of "))
	assert.Assert(t, cmp.Contains(got.stderr, "maxResult"))
}

// An invalid result is an error of the server on every surface.
func TestResultThatIsNoObject(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	for _, tt := range []struct {
		args, result string
	}{
		{"call none", "null"}, {"call none -o json", "null"}, {"call number", "7"},
		{"call number -o raw", "7"},
	} {
		got := against(t, tt.args, "nothing")
		assert.Equal(t, got.code, 1, tt.args)
		assert.Equal(t, got.stdout, "", tt.args)
		assert.Assert(t, cmp.Contains(got.stderr, "its result is not an object: "+tt.result), tt.args)
		assert.Assert(t, cmp.Contains(got.stderr, self), tt.args)
	}
	ownHome(t)
	executable, err := os.Executable()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(path,
			fmt.Appendf(nil, `{"mcpServers":{"up":{"command":%q,"args":["fixture:nothing"]}}}`,
				executable), 0o600))
	for _, era := range []string{"legacy", "modern"} {
		got := run(t, "call", "up__none", "--era", era, "--", executable, "serve", "--config", path)
		assert.Equal(t, got.code, 5, got.stderr)
		assert.Assert(t,
			cmp.Contains(got.stderr, `server "up": tool "none": its result is not an object: null`))
	}
	got := run(t, "run", "--config", path, "up", "none", "--yes")
	assert.Assert(t, got.code != 0)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			`upstream_error: server "up": tool "none": its result is not an object: null`))
}
