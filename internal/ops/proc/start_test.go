//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestProcStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	started := run[StartOutput](t, b, "proc.start", args{"command": "sh", "args": []string{"-c", `echo "$1|$2"`, "x", "a b", "$HOME *"}})
	assert.Assert(t, regexp.MustCompile(`^sh-[0-9a-f]{6}$`).MatchString(started.Session), started.Session)
	assert.Equal(t, started.Command, "sh")
	out := b.rest(t, started.Session)
	assert.Equal(t, out.Output, "a b|$HOME *\n") // no shell looked at the arguments
	assert.Equal(t, *out.ExitCode, 0)
	assert.Equal(t, out.Signal, "")
}

// The envelope tells the session, by id, of every call that is about one.
func TestProcStartSessionOfTheCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	envelope := b.dispatch(t.Context(), "proc.start", args{"command": "cat"})
	assert.Assert(t, envelope.Success())
	id := envelope.Session
	assert.Assert(t, strings.HasPrefix(id, "cat-"))
	for _, operation := range []string{"proc.read", "proc.stop"} { // the only session need not be named
		assert.Equal(t, b.dispatch(t.Context(), operation, nil).Session, id)
	}
}

func TestProcStartDir(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.put(t, "sub/tool", "#!/bin/sh\npwd\n", 0o755)
	real, err := filepath.EvalSymlinks(b.dir)
	assert.NilError(t, err)
	pwd := func(arguments args) string {
		return strings.TrimSpace(b.rest(t, run[StartOutput](t, b, "proc.start", arguments).Session).Output)
	}
	assert.Equal(t, pwd(args{"command": "pwd"}), real)
	assert.Equal(t, pwd(args{"command": "pwd", "instance": "main", "dir": "./sub/../sub"}), filepath.Join(real, "sub"))
	assert.Equal(t, pwd(args{"command": "./tool", "dir": "sub"}), filepath.Join(real, "sub")) // relative to dir
}

func TestProcStartDirEscape(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	outside := t.TempDir()
	b.put(t, "file", "", 0o644)
	assert.NilError(t, os.Mkdir(filepath.Join(b.dir, "in"), 0o777))
	for name, target := range map[string]string{"abs": outside, "rel": "../", "chain": "rel", "in/up": "../..", "inside": "in"} {
		assert.NilError(t, os.Symlink(target, filepath.Join(b.dir, name)))
	}
	for _, dir := range []string{"..", "../", "/", outside, "abs", "rel", "chain", "in/up", "in/../..", "abs/.", "rel/x"} {
		for operation, a := range map[string]args{"proc.start": {"command": "pwd"}, "proc.eval": {"script": "pwd"}} {
			a["dir"] = dir
			envelope := b.dispatch(t.Context(), operation, a)
			assert.Assert(t, envelope.Err != nil, "%s in %q: %s", operation, dir, envelope.Data)
			assert.Equal(t, envelope.Err.Code, dispatch.PermissionDenied, "%q: %v", dir, envelope.Err)
		}
	}
	fails(t, b, "proc.start", args{"command": "pwd", "dir": "gone"}, dispatch.NotFound, `"gone"`)
	fails(t, b, "proc.start", args{"command": "pwd", "dir": "file"}, dispatch.StateError, "not a directory")
	fails(t, b, "proc.start", args{"command": "pwd", "instance": "other"}, dispatch.UnknownInstance, "want one of main")
	assert.Equal(t, len(run[ListOutput](t, b, "proc.list", nil).Sessions), 0)
	assert.Assert(t, b.dispatch(t.Context(), "proc.start", args{"command": "pwd", "dir": "inside"}).Success())
}

func TestProcStartFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.put(t, "plain", "#!/bin/sh\n", 0o644)
	b.put(t, "lost", "#!/no/such/interpreter\n", 0o755)
	b.put(t, "garbage", "\x7fELFno", 0o755)
	assert.NilError(t, os.Mkdir(filepath.Join(b.dir, "dir"), 0o777))
	for _, test := range []struct {
		arguments args
		code      dispatch.Code
		text      string
	}{
		{args{"command": "no-such-program"}, dispatch.NotFound, "not found in $PATH"},
		{args{"command": "/no/such/program"}, dispatch.NotFound, "no such file"},
		{args{"command": "./plain"}, dispatch.PermissionDenied, "permission denied"},
		{args{"command": "./plain/x"}, dispatch.NotFound, "not a directory"},
		{args{"command": "./dir"}, dispatch.PermissionDenied, "permission denied"},
		{args{"command": "/"}, dispatch.PermissionDenied, "is a directory"},
		{args{"command": "./lost"}, dispatch.NotFound, "interpreter"},
		{args{"command": "./garbage"}, dispatch.InvalidInput, "exec format"},
		{args{"command": ""}, dispatch.InvalidInput, "/command"},
		{args{}, dispatch.MissingParam, "command"},
		{args{"command": "cat\x00"}, dispatch.InvalidInput, ""},
		{args{"command": "cat", "args": []string{"a\x00b"}}, dispatch.InvalidInput, "NUL"},
		{args{"command": "cat", "args": []string{strings.Repeat("x", 4<<20)}}, dispatch.InvalidInput, "too long"},
		{args{"command": "cat", "env": args{"A=B": "x"}}, dispatch.InvalidInput, "/env"},
		{args{"command": "cat", "env": args{"": "x"}}, dispatch.InvalidInput, "/env"},
		{args{"command": "cat", "env": args{"A": "a\x00b"}}, dispatch.InvalidInput, "NUL"},
		{args{"command": "cat", "env": args{"A": strings.Repeat("x", maxEnvironment)}}, dispatch.InvalidInput, "allowed"},
		{args{"command": "cat", "dir": "a\x00b"}, dispatch.InvalidInput, "NUL"},
	} {
		fails(t, b, "proc.start", test.arguments, test.code, test.text)
	}
	assert.Equal(t, len(run[ListOutput](t, b, "proc.list", nil).Sessions), 0)
}

// A caller's variables are set on top of a few that are inherited; the rest of this program's environment, its secrets, is not.
func TestProcStartEnvironment(t *testing.T) {
	t.Setenv("STDWIRE_TEST_SECRET", "s3cret")
	b := newBench(t, Options{})
	id := run[StartOutput](t, b, "proc.start", args{"command": "env", "env": args{"TZ": "Mars/Olympus", "OWN": "1"}}).Session
	lines := strings.Split(b.rest(t, id).Output, "\n")
	for _, want := range []string{"TZ=Mars/Olympus", "OWN=1", "PATH=" + os.Getenv("PATH")} {
		assert.Assert(t, strings.Contains("\n"+strings.Join(lines, "\n"), "\n"+want+"\n"), "%s in %q", want, lines)
	}
	assert.Assert(t, !strings.Contains(strings.Join(lines, "\n"), "s3cret"))
	// Nor are values shown to who asks for the list.
	assert.Assert(t, !strings.Contains(string(b.dispatch(t.Context(), "proc.list", nil).Data), "Olympus"))
}

// A process leads a group of its own, so that signals to this program's do not reach it.
func TestProcStartGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	started := run[StartOutput](t, b, "proc.start", args{"command": "cat"})
	group, err := syscall.Getpgid(started.PID)
	assert.NilError(t, err)
	assert.Equal(t, group, started.PID)
}

func TestProcNewID(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"python3": "python3-", "/usr/bin/python3": "python3-", "./a b.sh": "a_b_sh-", "/": "process-", "...": "process-", "ü": "process-",
		strings.Repeat("x", 100): strings.Repeat("x", maxIDName) + "-",
	} {
		id := newID(command)
		assert.Assert(t, strings.HasPrefix(id, want) && len(id) == len(want)+6, "%s: %s", command, id)
	}
	assert.Assert(t, newID("x") != newID("x"))
}
