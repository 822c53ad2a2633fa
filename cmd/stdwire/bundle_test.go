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

const bundledManifest = `{"manifest_version": "0.3", "name": "b", "version": "1", "description": "d",
  "author": {"name": "a\u001b[31m"},
  "server": {"type": "binary", "entry_point": "run", "mcp_config": {"command": "./run", "args": ["${user_config.key}"]}},
  "user_config": {"key": {"type": "string", "title": "Key", "description": "d", "required": true, "sensitive": true}}}`

// Wrong input is refused with a reason, before anything is extracted.
func TestBundleRefuses(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	assert.NilError(t, os.Mkdir("d", 0o700))
	assert.NilError(t, os.WriteFile("d/manifest.json", []byte(bundledManifest), 0o600))
	assert.Equal(t, run(t, "bundle", "create", "d").code, 8) // no entry point
	assert.NilError(t, os.WriteFile("d/run", nil, 0o600))
	assert.NilError(t, os.WriteFile("d/.mcpbignore", []byte("!x"), 0o600))
	assert.Equal(t, run(t, "bundle", "create", "d").code, 8)
	assert.NilError(t, os.Remove("d/.mcpbignore"))
	got := run(t, "bundle", "create", "d", "-o", "b.mcpb")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(run(t, "bundle", "show", "b.mcpb").stdout, "\x1b"))
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
		got := run(t, strings.Fields(tt.args)...)
		assert.Check(t, got.code == tt.code && strings.Contains(got.stderr, tt.want), "%s: %d %s", tt.args,
			got.code, got.stderr)
		assert.Check(t, !strings.Contains(got.stderr, "hidden"), got.stderr)
	}
	cache, err := os.UserCacheDir()
	assert.NilError(t, err)
	assert.Check(t, !exists(filepath.Join(cache, "stdwire", "bundles")))
}

// A server.json becomes servers of a configuration, and nothing is run.
func TestImportServerJSON(t *testing.T) {
	commandtest.Project(t, map[string]string{"server.json": `{"name": "io.github.ada/my weather", "description": "d", "version": "1.0.0", "packages": []}`,
		"two.json": `{"name": "io.github.ada/weather", "description": "d", "version": "1.0.0", "packages": [
			{"registryType": "cargo", "identifier": "w", "transport": {"type": "stdio"}},
			{"registryType": "npm", "identifier": "w", "version": "1.0.0", "transport": {"type": "stdio"},
			 "environmentVariables": [{"name": "API_KEY", "description": "The \u001b[31mkey", "isRequired": true, "isSecret": true}, {"name": "X"}]}],
			"remotes": [{"type": "sse", "url": "https://example.com/${HOME}"}]}`})
	got := run(t, "config", "import", "server.json")
	assert.Equal(t, got.code, 8)
	assert.Assert(t, strings.Contains(got.stderr, "NAMESPACE/NAME"), got.stderr)
	got = run(t, "config", "import", "two.json", "--into", "mcp.json")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stderr, "\x1b"))
	for _, want := range []string{`packages of type "cargo" are not known`, "weather-npm requires ${input:API_KEY}: The ",
		"weather-npm: not set, because they are optional: X", "weather-remote (remote) cannot be used"} {
		assert.Check(t, strings.Contains(got.stderr, want), "%s\n%s", want, got.stderr)
	}
	text, err := os.ReadFile("mcp.json")
	assert.NilError(t, err)
	for _, want := range []string{`"weather-npm"`, `"-y"`, `"w@1.0.0"`, `"${input:API_KEY}"`, `"password": true`} {
		assert.Check(t, strings.Contains(string(text), want), "%s\n%s", want, text)
	}
	assert.Equal(t, run(t, "config", "check").code, 0)
	got = run(t, "config", "import", "two.json", "weather-remote")
	assert.Equal(t, got.code, 8, got.stderr)
}
