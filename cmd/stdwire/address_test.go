package main

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A URL or the path of a bundle is a server, alone and after -s.
func TestAddresses(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	t.Chdir(t.TempDir())
	self, err := os.Executable()
	assert.NilError(t, err)
	got := run(t, "bundle", "create", "-o", "files.mcpb", "--name", "files", "--version", "1.0.0",
		"--author", "Ada", "--description", "Files", "--", self, "serve", "--root", "${HOME}")
	assert.Equal(t, got.code, 0, got.stderr)
	for _, args := range []string{"ls ./files.mcpb", "ls -s ./files.mcpb",
		"inspect files.mcpb fs_list", "call ./files.mcpb fs_list"} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 0, "%s: %s", args, got.stderr)
	}
	assert.NilError(t, os.WriteFile("mine.json", []byte(`{"servers": {"files.mcpb": {"url": "`+
		`http://127.0.0.1:1/mcp"}}}`), 0o600))
	got = run(t, "ls", "--config", "mine.json", "-s", "files.mcpb")
	assert.Equal(t, got.code, 4, "a file is not used in place of a configured server: %s", got.stderr)

	const url = "http://127.0.0.1:1/mcp"
	for _, args := range []string{"ls", "ls tools", "tools", "inspect", "call x", "prompt x",
		"task list", "scan", "shell"} {
		want := run(t, append(strings.Fields(args), "--url", url)...)
		assert.Assert(t, want.code != 0)
		words := strings.Fields(args)
		if words[0] == "call" || words[0] == "prompt" {
			words = []string{words[0], url, "x"} // what follows x is its arguments
		} else {
			words = append(words, url)
		}
		assert.Equal(t, run(t, words...), want)
		assert.Equal(t, run(t, append(strings.Fields(args), "-s", url)...), want)
	}

	for args, want := range map[string]string{
		"ls " + url + " -s files":          "exclude each other",
		"ls " + url + " " + url:            "a URL or bundle and another server exclude each other",
		"ls " + url + " -- x":              "exclude each other",
		"ls files.mcpb -- x":               "files.mcpb and a command after -- exclude each other",
		"ls files.mcpb --root .":           "--root is for stdwire's own server",
		"ls -s files.mcpb":                 "a bundle has its directory before it: -s ./files.mcpb",
		"ls files.mcpb --env A=b":          "-- stdwire bundle run files.mcpb --set KEY=VALUE",
		"ls @kept " + url:                  "exclude each other",
		"ls " + url + " --url " + url:      "two URLs are given",
		"doctor " + url + " " + url:        "two URLs are given",
		"ls https://":                      "the URL has no host",
		"ls missing.mcpb":                  `"missing.mcpb" is not one of`,
		"call x " + url:                    "stdwire: call: ",
		"doctor " + url + " --profile one": "cannot be combined",
	} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2, "%s: %s", args, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, want), args)
	}
}
