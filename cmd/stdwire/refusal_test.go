package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A refusal has the same exit code by stdwire call and stdwire run, and says what to do.
func TestSameRefusals(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("hi"), 0o600))
	for _, tt := range []struct {
		call, run  string
		code       int
		calls, ran string // what is on stderr
	}{
		{"fs_write path=y content=z", "fs write path=y content=z", 7,
			"stdwire: built-in: fs_write: it is offered with --write\n",
			"permission_denied: it is offered with --write: stdwire run --write fs write\n"},
		{"proc_start command=ls", "proc start command=ls", 7,
			"proc_start: it is offered with --allow-exec\n", "it is offered with --allow-exec: "},
		{"--write fs_delete path=x", "--write fs delete path=x", 7,
			"confirmation_required: Delete a file", "confirmation_required: Delete a file"},
		{"fs_read path=none", "fs read path=none", 5, "not_found: ", "not_found: "},
		{"fs_read path=x lines=three", "fs read path=x lines=three", 2,
			`fs_read: lines must be an integer, not "three"`,
			`--lines must be an integer, not "three"`},
		{"--no-validate fs_read path=x lines=three", "fs read path=x lines=three", 2,
			`invalid_input: invalid arguments: lines must be an integer, not "three"`, "--lines must"},
		{"fs_read", "fs read", 2, `missing required property "path"`, "--path is missing"},
		{"fs_read path=../x", "fs read path=../x", 7, "permission_denied: ", "permission_denied: "},
		{"--write --yes fs_delete path=none", "--write fs delete --yes path=none", 5, "not_found",
			"not_found"},
		{"nothing", "nothing", 5, "there is no such tool", "there is no such operation"},
	} {
		called := run(t, append([]string{"call", "--root", dir}, strings.Fields(tt.call)...)...)
		assert.Equal(t, called.code, tt.code, "%s: %s", tt.call, called.stderr)
		assert.Assert(t, cmp.Contains(called.stderr, tt.calls))
		ran := run(t, append([]string{"run", "--root", dir}, strings.Fields(tt.run)...)...)
		assert.Equal(t, ran.code, tt.code, "%s: %s", tt.run, ran.stderr)
		assert.Assert(t, cmp.Contains(ran.stderr, tt.ran))
	}
	got := run(t, "call", "--root", dir, "fs")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "there is no such tool"), "some of fs is offered")
	got = run(t, "call", "--root", dir, "--write", "--yes", "fs_delete", "path=x")
	assert.Equal(t, got.code, 0, got.stderr)
	_, err := os.Stat(filepath.Join(dir, "x"))
	assert.Assert(t, os.IsNotExist(err))
}

// A gateway's own refusal is one for stdwire call, too.
func TestCallRefusedByGateway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hook is a shell command")
	}
	if commandtest.InOwnProcess(t) {
		return
	}
	config, _, _ := someServers(t)
	exe, err := os.Executable()
	assert.NilError(t, err)
	got := run(t, "call", "files__fs_read", "path=a.txt", "--", exe, "serve", "--config", config,
		"--before", `sh -c 'echo "{\"deny\":\"not today\"}"'`)
	assert.Equal(t, got.code, 7, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "refused before the call: not today"))
}

// The id of a server in place of a tool asks whether it is meant as the server.
func TestServerInPlaceOfTool(t *testing.T) {
	config, dir, _ := someServers(t)
	t.Chdir(dir)
	for args, want := range map[string]string{
		"files list_directory --config " + config: "unexpected argument \"list_directory\": an argument of the tool is name=value or name:=JSON\nhint: did you mean -s files? stdwire call -s files list_directory\n",
		"files a=b c --config " + config:          "unexpected argument \"c\"",
		"nosuch list_directory":                   "unexpected argument \"list_directory\": an argument of the tool is name=value or name:=JSON\nhint: see stdwire call --help\n",
	} {
		got := run(t, append([]string{"call"}, strings.Fields(args)...)...)
		assert.Equal(t, got.code, 2, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, want))
	}
	got := run(t, "call", "files") // mcp.json of the working directory
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "hint: did you mean -s files? "), got.stderr)
}

func TestArgumentWrittenAsFlag(t *testing.T) {
	got := run(t, "call", "fs_read", "--path", "x")
	assert.Equal(t, got.stderr,
		"stdwire: call: unknown flag --path\nhint: an argument of the tool is written path=VALUE\n")
}
