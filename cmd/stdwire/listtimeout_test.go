package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A list that takes too long ends with an error that names the server and the list.
func TestListsHaveADeadline(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	var at sync.WaitGroup
	for _, tt := range []struct{ command, mute string }{
		{"ls", "tools/list"},
		{"ls", "prompts/list"},
		{"ls -o json", "resources/list"},
		{"ls templates", "resources/templates/list"},
		{"tools -o raw", "tools/list"},
		{"inspect", "tools/list"},
		{"inspect echo", "tools/list"},
		{"scan", "resources/list"},
	} {
		at.Go(func() {
			got := against(t, tt.command+" --timeout 2s", "mute", tt.mute)
			assert.Check(t, got.code == 6, "%s: %s", tt.command, got.stderr)
			assert.Check(t, cmp.Contains(got.stderr, self+": "+tt.mute+
				": the list was not complete after 2s"), tt.command)
			assert.Check(t, cmp.Contains(got.stderr, "it may need longer: --timeout "), tt.command)
			assert.Check(t, got.stdout == "", tt.command)
		})
	}
	at.Go(func() {
		got := against(t, "doctor -o json --timeout 2s", "mute", "resources/list", "prompts/list")
		assert.Check(t, got.code == 0, got.stderr)
		assert.Check(t, cmp.Contains(got.stdout,
			"resources/list: the list was not complete after 2s; the lists after it were not requested"))
	})
	at.Go(func() {
		got := against(t, "doctor -o json --timeout 2s", "mute", "tools/list")
		assert.Check(t, got.code == 10, got.stdout)
		assert.Check(t, cmp.Contains(got.stdout, "tools/list: the list was not complete after 2s"))
	})
	at.Wait()

	// One silent server does not delay the others.
	path := filepath.Join(t.TempDir(), "mcp.json")
	exe, err := os.Executable()
	assert.NilError(t, err)
	text := `{"mcpServers": {"quiet": {"command": "` + filepath.ToSlash(exe) +
		`", "args": ["fixture:mute", "tools/list"]}, "good": {"command": "` +
		filepath.ToSlash(exe) + `", "args": ["fixture:mute"]}}}`
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	got := run(t, "scan", "--config", path, "--timeout", "2s")
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			"warning: quiet: tools/list: the list was not complete after 2s: its definitions were not scanned"))
	got = run(t, "pin", "diff", "-s", "quiet", "--config", path, "--timeout", "2s")
	assert.Equal(t, got.code, 6, got.stderr)
	assert.Equal(t, got.stderr,
		"stdwire: quiet: tools: the list was not complete after 2s\nhint: it may need longer: --timeout 5m\n")
}
