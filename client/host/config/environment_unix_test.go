//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// System reads regular files only and resolves symbolic links in the directory.
func TestSystem(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv(pathVariable, "")
	real := filepath.Join(dir, "real")
	assert.NilError(t, os.Mkdir(real, 0o700))
	assert.NilError(t, os.Symlink(real, filepath.Join(dir, "link")))
	assert.NilError(t,
		os.WriteFile(filepath.Join(real, "mcp.json"),
			[]byte(`{"servers": {"a": {"command": "a b"}}}`), 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(real, "a b"), nil, 0o600))
	// where a directory might be
	assert.NilError(t, os.WriteFile(filepath.Join(real, ".dispatch"), nil, 0o600))
	env, err := System(filepath.Join(dir, "link"))
	assert.NilError(t, err)
	c := Load(env)
	assert.Equal(t, len(c.Diagnostics), 0, "%v", c.Diagnostics)
	resolved, err := filepath.EvalSymlinks(real)
	assert.NilError(t, err)
	assert.Equal(t, c.Servers[0].Workspace, resolved)
	assert.Equal(t, c.Servers[0].Command, "a b")

	assert.NilError(t, os.Remove(filepath.Join(real, "mcp.json")))
	assert.NilError(t, syscall.Mkfifo(filepath.Join(real, "mcp.json"), 0o600))
	c = Load(env)
	assert.Equal(t, told(c), "broken "+resolved+"/mcp.json 0\nerror: "+resolved+
		"/mcp.json: this is not a regular file\n")
	assert.NilError(t, os.Remove(filepath.Join(real, "mcp.json")))
	assert.NilError(t,
		os.WriteFile(filepath.Join(real, "mcp.json"), make([]byte, MaxFile+1), 0o600))
	assert.Equal(t, Load(env).Diagnostics[0].Message, resolved+"/mcp.json has more than 4 MiB")
}
