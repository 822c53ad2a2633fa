package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A bundle of a program is created, shown and run.
func TestBundle(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	t.Chdir(t.TempDir())
	self, err := os.Executable()
	assert.NilError(t, err)
	create := []string{"bundle", "create", "--name", "files", "--version", "1.0.0", "--author", "Ada",
		"--description", "Files", "--", self, "serve", "--root", "${HOME}"}
	got := run(t, create...)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stderr, "files-1.0.0.mcpb has 2 files, SHA-256 "), got.stderr)
	digest := strings.TrimSpace(got.stderr[strings.LastIndex(got.stderr, " ")+1:])

	got = run(t, "bundle", "show", "files-1.0.0.mcpb")
	assert.Equal(t, got.code, 0, got.stderr)
	for _, want := range []string{"files 1.0.0", "Ada", "serve --root ${HOME}", digest} {
		assert.Check(t, strings.Contains(got.stdout, want), got.stdout)
	}
	got = run(t, "bundle", "show", "files-1.0.0.mcpb", "-o", "json")
	var shown struct {
		Manifest struct{ Name string }
		SHA256   string
		Files    []string
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &shown))
	assert.Equal(t, shown.Manifest.Name, "files")
	assert.Equal(t, shown.SHA256, digest)
	assert.Equal(t, len(shown.Files), 2)

	home, err := os.UserHomeDir()
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(home, "here.txt"), nil, 0o600))
	behind := []string{"--", self, "bundle", "run", "files-1.0.0.mcpb", "--sha256"}
	got = run(t, append(append([]string{"call", "fs_list"}, behind...), digest)...)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, "here.txt"), got.stdout)
	got = run(t, append(append([]string{"call", "fs_list"}, behind...), strings.Repeat("0", 64))...)
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "is not the file that --sha256 names"), got.stderr)

	got = run(t, "bundle", "server-json", "files-1.0.0.mcpb", "--name", "io.github.ada/files", "--url",
		"https://example.com/files-1.0.0.mcpb", "--remote", "https://example.com/mcp")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "io.github.ada/files",
  "description": "Files",
  "version": "1.0.0",
  "packages": [
    {
      "registryType": "mcpb",
      "identifier": "https://example.com/files-1.0.0.mcpb",
      "fileSha256": "`+digest+`",
      "transport": {
        "type": "stdio"
      }
    }
  ],
  "remotes": [
    {
      "type": "streamable-http",
      "url": "https://example.com/mcp"
    }
  ]
}
`)
	assert.NilError(t, os.WriteFile("server.json", []byte(got.stdout), 0o600))
	got = run(t, "config", "import", "server.json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, digest), got.stdout)
	assert.Assert(t, strings.Contains(got.stderr, "files-remote"), got.stderr)
	got = run(t, "config", "import", "server.json", "files-remote")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, `"url": "https://example.com/mcp"`), got.stdout)
}
