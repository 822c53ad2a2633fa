package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

// A wrong argument has a hint that leads to the right one.
func TestHintsOfArguments(t *testing.T) {
	config, dir, _ := someServers(t)
	t.Chdir(dir)
	bundle := filepath.Join(t.TempDir(), "mini.mcpb")
	assert.NilError(t, os.WriteFile(bundle, []byte("PK\x03\x04rest"), 0o600))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"call", "fs_read", "--message", "hi"}, "unknown flag --message\nhint: " +
			"an argument of the tool is written message=VALUE; among the flags, did you mean --max-message?"},
		{[]string{"ls", "--server", "files"},
			"unknown flag --server\nhint: did you mean -s ID?"},
		{[]string{"ls", "--format=json"},
			"unknown flag --format\nhint: did you mean -o text|json|raw?"},
		{[]string{"call", "fs_read", "--data", "{}"},
			"unknown flag --data\nhint: did you mean -d JSON|@FILE|-?"},
		{[]string{"tools", "files"}, "unexpected argument \"files\"\nhint: did you mean -s files?"},
		{[]string{"shell", "files"}, "unexpected argument \"files\"\nhint: did you mean -s files?"},
		{[]string{"ls", "files"}, "hint: did you mean -s files?"},
		{[]string{"call", "fs_read", `{"path":"a"}`},
			"hint: the arguments as one JSON object follow -d"},
		{[]string{"call", "fs_read", `{"path":"a=b"}`},
			"hint: the arguments as one JSON object follow -d"},
		{[]string{"call", "fs_read", "pth=a.txt"},
			"hint: it describes no argument pth, did you mean path?: "},
		{[]string{"config", "import", bundle}, ": this is a ZIP file, not a configuration\n" +
			"hint: if it is a bundle of a server: stdwire bundle run "},
		{[]string{"ls", "tools", "@nosuch"}, "nosuch"},
		{[]string{"call", "fs_read", "path=a", "@nosuch"}, "hint: begin one: stdwire connect @nosuch"},
		{[]string{"inspect", "fs_read", "@nosuch"}, "hint: begin one: stdwire connect @nosuch"},
	} {
		got := run(t, tt.args...)
		assert.Assert(t, got.code != 0, tt.args)
		assert.Assert(t, cmp.Contains(got.stderr, tt.want), tt.args)
	}
	got := run(t, "config", "check", "--config", config)
	assert.Assert(t, cmp.Contains(got.stdout, " valid "))
}

// Commands of other shells lead to those of this one, without a list of all tools.
func TestHintsOfTheShell(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	for line, hint := range map[string]string{
		"help": ".help", "exit": ".quit", "tools": ".tools", "clear": "Ctrl-L clears the screen",
		"call echo": "a tool is called by its name alone: echo",
	} {
		c := termtest.Capture(false)
		c.In = strings.NewReader(line + "\n")
		got := runWith(t.Context(), c, "shell", "--", self, "fixture:good")
		assert.Equal(t, got.code, 5, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, ": there is no such tool\nhint: "))
		assert.Assert(t, cmp.Contains(got.stderr, hint))
	}
}

// A gateway without servers says so. It closes the standard streams of its process.
func TestGatewayWithoutServers(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	t.Chdir(t.TempDir())
	got := run(t, "serve", "--servers") // its stdin has nothing
	assert.Assert(t, cmp.Contains(got.stderr, "no servers are configured"))
}
