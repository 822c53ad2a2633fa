package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// An interrupt cancels the call at the server, too. Progress is shown at a terminal.
func TestRunToolIsInterrupted(t *testing.T) {
	executable, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	notes, config := newNotes(t), filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(config,
			[]byte(`{"mcpServers":{"hand":{"command":"`+filepath.ToSlash(executable)+
				`","args":["fixture:good","`+notes.path+`"]}}}`), 0o600))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan ran)
	go func() {
		ended <- runWith(ctx, termtest.Capture(false), "run", "--config", config, "hand", "hang",
			"--yes")
	}()
	assert.Equal(t, notes.Line(t), "working\n")
	cancel(command.SignalError{Signal: syscall.SIGINT})
	assert.Equal(t, notes.Line(t), "cancelled\n")
	got := <-ended
	assert.Equal(t, got.code, 130, got.stderr)
	got = typing(t, "", "run", "--config", config, "hand", "slow", "--ms", "1", "--yes")
	assert.Equal(t, got.code, 0, got.stderr)
	// a later update may replace an earlier one
	assert.Assert(t, cmp.Regexp(`hand slow: \[#+-*\] \d+% `, got.stderr))
}
