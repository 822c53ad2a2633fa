//go:build unix && !darwin

package elicit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestBrowse(t *testing.T) {
	dir := t.TempDir()
	opener, received := filepath.Join(dir, "xdg-open"), filepath.Join(dir, "arguments")
	writeOpener := func(text string) {
		assert.NilError(t, os.WriteFile(opener, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	const url = "https://example.com/?a=$(id)&b=';x"
	assert.Error(t, Browse(url), "there is no graphical display")

	t.Setenv("WAYLAND_DISPLAY", "wayland-0")
	writeOpener(`printf '%s\n' "$#" "$@" > ` + received)
	assert.NilError(t, Browse(url))
	got, err := os.ReadFile(received)
	assert.NilError(t, err)
	words := strings.Split(strings.TrimSpace(string(got)), "\n")
	assert.Equal(t, len(words), 2, "one argument, that no shell reads: %q", got)
	assert.Assert(t, !strings.Contains(string(got), "example.com"), "%s", got)
	info, err := os.Stat(words[1])
	assert.NilError(t, err)
	assert.Equal(t, info.Mode(), os.FileMode(0o600))
	parent, err := os.Stat(filepath.Dir(words[1]))
	assert.NilError(t, err)
	assert.Equal(t, parent.Mode().Perm(), os.FileMode(0o700))
	page, err := os.ReadFile(words[1])
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(page),
		`content="0;url=https://example.com/?a=$(id)&amp;b=&#39;;x">`), "%s", page)
	// the next call removes what a killed process has left behind
	assert.NilError(t, os.Chtimes(words[1], time.Time{}, time.Now().Add(-time.Hour)))
	assert.NilError(t, Browse(url))
	_, err = os.Stat(words[1])
	assert.ErrorIs(t, err, os.ErrNotExist)

	writeOpener("exit 3")
	assert.Error(t, Browse(url), "xdg-open: exit status 3")
	assert.NilError(t, os.Remove(opener))
	t.Setenv("PATH", dir)
	assert.ErrorContains(t, Browse(url), "executable file not found")
}
