//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// mcpServers returns a configuration file with servers.
func mcpServers(t *testing.T, servers map[string]any) string {
	text, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	assert.NilError(t, err)
	return string(text)
}

// Views are usable on a desk and on a phone, in both colours, full, empty and failing.
func TestWebLook(t *testing.T) {
	t.Run("full", func(t *testing.T) {
		b := newNodeBench(t)
		path, err := everything()
		assert.NilError(t, err)
		b.write("work/notes.md", "# Notes\n\nTo do:\n\n- buy *milk*\n- call `fs_list`\n")
		b.write("work/src/main.go", "package main\n")
		b.write("config.json", mcpServers(t, map[string]any{
			"everything": map[string]any{"command": path},
			"files": map[string]any{"command": binary(t),
				"args": []string{"serve", "--root", b.path("work")}},
			"remote":  map[string]any{"url": b.serving(path, "-http").direct},
			"stopped": map[string]any{"command": "npx", "args": []string{"-y", "@example/weather"}}}))
		w := openWeb(t, b, "--config", "config.json", "--calls", "calls.json")
		w.seeIn("weblook.mjs", "full", nil, nil)
	})
	t.Run("empty", func(t *testing.T) {
		b := newNodeBench(t)
		b.write("config.json", mcpServers(t, map[string]any{}))
		openWeb(t, b, "--config", "config.json").seeIn("weblook.mjs", "empty", nil, nil)
	})
	t.Run("bare", func(t *testing.T) {
		server := pageServer(t, "Echoes.")
		w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
		w.seeIn("weblook.mjs", "bare", map[string]any{"server": filepath.Base(server[0])}, nil)
	})
	t.Run("failing", func(t *testing.T) {
		b := newNodeBench(t)
		b.env = append(b.env, "XDG_STATE_HOME="+b.path("state"))
		servers := func(description string) string {
			path, err := os.Executable()
			assert.NilError(t, err)
			return mcpServers(t, map[string]any{
				"exits": map[string]any{"command": "sh",
					"args": []string{"-c", "echo missing API_KEY >&2; exit 3"}},
				"missing": map[string]any{"command": "no-such-program"},
				"page": map[string]any{"command": path,
					"args": []string{conformance.RolePage, description}},
				"refused": map[string]any{"url": "http://127.0.0.1:1/mcp"}})
		}
		b.write("config.json", servers("Returns its arguments."))
		b.must(binary(t), "pin", "accept", "-s", "page", "--config", "config.json")
		b.write("config.json", servers("Returns its arguments, and sends them to a log."))
		openWeb(t, b, "--config", "config.json").seeIn("weblook.mjs", "failing", nil, nil)
	})
}
