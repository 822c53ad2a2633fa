package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// servingFiles returns the command line of stdwire serve with the files of a directory.
func servingFiles(t *testing.T, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	return []string{self, "serve", "--root", dir}
}

// The listing of a directory has an app: inspect shows it, and the scan finds nothing in it.
func TestListingHasAnApp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "sub", "a.txt"), []byte("x"), 0o600))
	command := servingFiles(t, dir)
	got := run(t, append([]string{"inspect", "-o", "json", "--"}, command...)...)
	assert.Equal(t, got.code, 0, got.stderr)
	var report struct {
		Apps []struct {
			URI    string
			Tools  []string
			Bytes  int
			Digest string
		}
		Capabilities struct{ Extensions map[string]any }
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &report))
	assert.Equal(t, len(report.Apps), 1)
	app := report.Apps[0]
	assert.Equal(t, app.URI, "ui://_stdwire/files.html")
	assert.DeepEqual(t, app.Tools, []string{"fs_list"})
	assert.Assert(t, app.Bytes > 1000 && strings.HasPrefix(app.Digest, "sha256:"))
	assert.Assert(t, report.Capabilities.Extensions[mcp.ExtensionApps] != nil)
	got = run(t, append([]string{"inspect", "--"}, command...)...)
	assert.Assert(t,
		strings.Contains(got.stdout, "app           ui://_stdwire/files.html, of fs_list"),
		got.stdout)

	got = run(t, append([]string{"scan", "-o", "json", "--fail-on", "never", "--"}, command...)...)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout, `"app-`), got.stdout)

	// what a client without apps sees is as before
	got = run(t, append([]string{"tools", "-o", "json", "--"}, command...)...)
	assert.Assert(t, !strings.Contains(got.stdout, "_meta"), got.stdout)

	var o client.Options
	apps.Declare(&o)
	c, err := o.Spawn(t.Context(), client.Command{Path: command[0], Args: command[1:]})
	assert.NilError(t, err)
	defer c.Close()
	a, err := apps.Read(t.Context(), c, app.URI)
	assert.NilError(t, err)
	assert.Equal(t, a.Digest, app.Digest)
	assert.Assert(t, !strings.Contains(a.HTML, "data-app"), "the script is in the page")
}
