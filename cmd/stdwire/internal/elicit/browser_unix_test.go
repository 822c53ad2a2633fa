//go:build unix && !darwin

package elicit

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func TestBrowse(t *testing.T) {
	dir := t.TempDir()
	opener, received := filepath.Join(dir, "xdg-open"), filepath.Join(dir, "arguments")
	writeOpener := func(text string) {
		assert.NilError(t, os.WriteFile(opener, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	const url = "https://example.com/?a=$(id)&b=';x"
	assert.Error(t, Browse(url), "there is no graphical display")

	t.Setenv("WAYLAND_DISPLAY", "wayland-0")
	writeOpener(`printf '%s\n' "$#" "$@" > ` + received)
	assert.NilError(t, Browse(url))
	got, err := os.ReadFile(received)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "1\n"+url+"\n", "one argument, that no shell reads")

	writeOpener("exit 3")
	assert.Error(t, Browse(url), "xdg-open: exit status 3")
	assert.NilError(t, os.Remove(opener))
	t.Setenv("PATH", dir)
	assert.ErrorContains(t, Browse(url), "executable file not found")
}
