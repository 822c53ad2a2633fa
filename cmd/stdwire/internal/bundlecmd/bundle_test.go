package bundlecmd_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundlecmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

var commands = command.Table{bundlecmd.BundleCommand()}

const bundledManifest = `{"manifest_version": "0.3", "name": "b", "version": "1", "description": "d",
  "author": {"name": "a\u001b[31m"},
  "server": {"type": "binary", "entry_point": "run", "mcp_config": {"command": "./run", "args": ["${user_config.key}"]}},
  "user_config": {"key": {"type": "string", "title": "Key", "description": "d", "required": true, "sensitive": true}}}`

// Wrong input is refused with a reason, before anything is extracted.
func TestBundleRefuses(t *testing.T) {
	commandtest.Project(t, nil)
	t.Setenv("XDG_CACHE_HOME", "")
	assert.NilError(t, os.Mkdir("d", 0o700))
	assert.NilError(t, os.WriteFile("d/manifest.json", []byte(bundledManifest), 0o600))
	assert.Equal(t, commandtest.Run(t, commands, "bundle", "create", "d").Code, 8) // no entry point
	assert.NilError(t, os.WriteFile("d/run", nil, 0o600))
	assert.NilError(t, os.WriteFile("d/.mcpbignore", []byte("!x"), 0o600))
	assert.Equal(t, commandtest.Run(t, commands, "bundle", "create", "d").Code, 8)
	assert.NilError(t, os.Remove("d/.mcpbignore"))
	got := commandtest.Run(t, commands, "bundle", "create", "d", "-o", "b.mcpb")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, !strings.Contains(commandtest.Run(t, commands, "bundle", "show", "b.mcpb").Stdout, "\x1b"))
	assert.NilError(t, os.WriteFile("x.mcpb", []byte("x"), 0o600))
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"bundle", 2, "which subcommand?"},
		{"bundle run", 2, "which bundle?"},
		{"bundle run none.mcpb", 2, "none.mcpb"},
		{"bundle run x.mcpb", 8, "x.mcpb: this is not a bundle"},
		{"bundle run b.mcpb", 2, "b.mcpb: values that it needs are missing: key\nhint: give each: --set key=VALUE"},
		{"bundle run b.mcpb --set key", 2, "the value is not KEY=VALUE"},
		{"bundle run b.mcpb --set ky=hidden", 8, `asks for no value "ky"; it asks for key`},
		{"bundle run b.mcpb --set key=@none", 2, "none"},
		{"bundle run b.mcpb --sha256 xyz", 2, "64 hexadecimal digits"},
		{"bundle run b.mcpb c.mcpb", 2, `unexpected argument "c.mcpb"`},
		{"bundle create", 2, "of what?"},
		{"bundle create d --name x", 2, "a directory has its manifest"},
		{"bundle create --name x -- ./run", 2, "--version"},
		{"bundle create none", 2, "none"},
		{"bundle server-json b.mcpb --name b --url https://example.com", 8, "NAMESPACE/NAME"},
		{"bundle server-json b.mcpb --name a/b --url ftp://example.com", 2, "https:"},
		{"bundle server-json b.mcpb", 2, "--name and --url are needed"},
	} {
		got := commandtest.Run(t, commands, strings.Fields(tt.args)...)
		assert.Check(t, got.Code == tt.code && strings.Contains(got.Stderr, tt.want), "%s: %d %s", tt.args,
			got.Code, got.Stderr)
		assert.Check(t, !strings.Contains(got.Stderr, "hidden"), got.Stderr)
	}
	cache, err := os.UserCacheDir()
	assert.NilError(t, err)
	_, err = os.Stat(filepath.Join(cache, "stdwire", "bundles"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
