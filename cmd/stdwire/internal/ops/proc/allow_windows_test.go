package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// The list accepts some spellings of a command that Windows accepts, and refuses others.
func TestProcAllowSpellings(t *testing.T) {
	t.Setenv("PATHEXT", ".COM;.EXE;.BAT;.CMD;.;;.E X;..")
	for _, test := range []struct {
		entry, command string
		want           bool
	}{
		{"node", "node", true},
		{"node", "NODE.Exe", true},
		{"Node.EXE", "node.exe", true},
		{"npx", "npx.cmd", true},
		{`C:\Tools\x`, `c:/TOOLS/X.exe`, true},
		{`C:/Tools/x.exe`, `C:\Tools\x.exe`, true},
		{"node.exe", "node", false}, // node may be node.com
		{"node", "node.", false},
		{"node", "node ", false},
		{"node", "node.exe.", false},
		{"node", "node.exe ", false},
		{"node", "node.js", false},
		{"node", "node..", false},
		{"node", "node.e x", false},
		{"node", "node.exe.cmd", false},
		{"npx", "npx.cmd:x", false},
		{"npx", "npx.cmd::$DATA", false},
		{"npx", "npx:x.cmd", false},
		{"task", "tas\u212a", false}, // KELVIN SIGN, which folds to k, but is another name
		{`C:\Tools\x.exe`, `\\?\C:\Tools\x.exe`, false},
		{`C:\Tools\x.exe`, `C:\Tools\.\x.exe`, false},
		{`C:\Tools\x.exe`, `\Tools\x.exe`, false},
		{`C:\Tools\x.exe`, "x.exe", false},
		{"x", `C:\Tools\x`, false},
	} {
		assert.Equal(t, allows(test.entry, test.command), test.want, "%v", test)
	}
}

// hostile are arguments that cmd.exe would execute.
var hostile = []string{
	`"&echo pwned>pwned.txt&ver`, `&echo pwned>pwned.txt`, `"|echo pwned>pwned.txt`, `a"b`, `"a&b"`,
	`\"&echo pwned>pwned.txt&rem \"`, `^"&echo pwned>pwned.txt`, "%CD%", `%ComSpec:~-1%`,
	`"%CMDCMDLINE:~-1%&echo pwned>pwned.txt`, "!CD!", "a b", "(a)", "a;b,c=d", "a\\", `a b\`, "é",
	"",
	"a\r\nb", "a\necho pwned>pwned.txt", "/?", "*", `<nul`, `>pwned.txt`, `2>pwned.txt`,
}

// Arguments of an allowed batch file run no other program: they are passed on unchanged, or it is
// not started.
func TestProcAllowBatchFile(t *testing.T) {
	dir := t.TempDir()
	onPath(t, dir)
	script := fmt.Sprintf("@\"%s\" arguments %%*\r\n", self(t))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "batch.cmd"), []byte(script), 0o666))
	s := newService(t, Options{Allow: []string{"batch"}})
	with := func(command, argument string) args {
		return args{
			"command": command, "args": []string{argument, "last"}, "env": []string{fixtureEnv + "=1"},
		}
	}
	for _, argument := range hostile {
		envelope := s.dispatch(t.Context(), "proc.start", with("batch", argument))
		if envelope.Err == nil {
			out := s.rest(t, decode[StartOutput](t, envelope).Session).Output
			want := fmt.Sprintf("%q\n", []string{argument, "last"})
			assert.Check(t, out == want, "%q: %s", argument, out)
		} else {
			t.Logf("%q: %v", argument, envelope.Err)
			assert.Check(t, envelope.Err.Code == dispatch.InvalidInput, "%q", argument)
		}
		names, err := filepath.Glob(filepath.Join(s.dir, "*"))
		assert.NilError(t, err)
		assert.Check(t, len(names) == 0, "%q wrote %s", argument, strings.Join(names, " "))
	}
	for _, command := range []string{"batch.cmd", "BATCH.CMD"} {
		run[StartOutput](t, s, "proc.start", with(command, "x"))
	}
	s.notAllowed(t, []string{
		"batch.cmd.", "batch.cmd ", "batch.", "batch.cmd::$DATA", "batch.cmd:x", `.\batch.cmd`,
	})
}
