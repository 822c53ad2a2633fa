package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestProcStart(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	// No shell looks at the arguments.
	arguments := []string{"a b", "$HOME *", `"`, `\`, `\"`, `a\`, `c:\a b\`, "%PATH%", "^&|<>", "é",
		""}
	steps := append([]string{"arguments"}, arguments...)
	started := run[StartOutput](t, s, "proc.start", program(t, steps...))
	assert.Assert(t, regexp.MustCompile(`^[a-z_]+-[0-9a-f]{6}$`).MatchString(started.Session),
		started.Session)
	assert.Equal(t, started.Command, self(t))
	out := s.rest(t, started.Session)
	assert.Equal(t, out.Output, fmt.Sprintf("%q\n", arguments))
	assert.Equal(t, *out.ExitCode, 0)
	assert.Equal(t, out.Signal, "")
}

// The envelope has the session id of every call about a session.
func TestProcStartSessionOfTheCall(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	envelope := s.dispatch(t.Context(), "proc.start", program(t, "copy"))
	id := decode[StartOutput](t, envelope).Session
	assert.Equal(t, envelope.Session, id)
	for _, operation := range []string{"proc.read", "proc.stop"} {
		// the only session need not be named
		assert.Equal(t, s.dispatch(t.Context(), operation, nil).Session, id)
	}
}

func TestProcStartDir(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	assert.NilError(t, os.Mkdir(filepath.Join(s.dir, "sub"), 0o777))
	tool := s.tool(t, "sub")
	real, err := filepath.EvalSymlinks(s.dir)
	assert.NilError(t, err)
	directory := func(command, dir string) string {
		a := program(t, "directory")
		if command != "" {
			a["command"] = command
		}
		a["instance"], a["dir"] = "main", dir
		return strings.TrimSpace(s.rest(t, run[StartOutput](t, s, "proc.start", a).Session).Output)
	}
	assert.Equal(t, directory("", ""), real)
	assert.Equal(t, directory("", "./sub/../sub"), filepath.Join(real, "sub"))
	assert.Equal(t, directory("./"+tool, "sub"), filepath.Join(real, "sub")) // relative to dir
}

// tool copies this test program to a directory of the root, and returns the name of its file.
func (s *testService) tool(t testing.TB, dir string) string {
	t.Helper()
	name := "tool" + executable
	content, err := os.ReadFile(self(t))
	assert.NilError(t, err)
	s.put(t, filepath.Join(dir, name), string(content), 0o755)
	return name
}

func TestProcStartDirEscape(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.put(t, "file", "", 0o644)
	assert.NilError(t, os.Mkdir(filepath.Join(s.dir, "in"), 0o777))
	for _, dir := range []string{"..", "../", "/", t.TempDir(), "in/../.."} {
		s.startFails(t, dir, dispatch.PermissionDenied, "")
	}
	s.startFails(t, "gone", dispatch.NotFound, `"gone"`)
	s.startFails(t, "file", dispatch.StateError, "not a directory")
	elsewhere := program(t)
	elsewhere["instance"] = "other"
	fails(t, s, "proc.start", elsewhere, dispatch.UnknownInstance, "want one of main")
	assert.Equal(t, len(run[ListOutput](t, s, "proc.list", nil).Sessions), 0)
}

// startFails starts a program in a directory, which must fail.
func (s *testService) startFails(t testing.TB, dir string, code dispatch.Code, text string) {
	t.Helper()
	a := program(t, "directory")
	a["dir"] = dir
	fails(t, s, "proc.start", a, code, text)
}

func TestProcStartLinkEscape(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	for _, dir := range s.escapingLinks(t) {
		s.startFails(t, dir, dispatch.PermissionDenied, "")
	}
	inside := program(t)
	inside["dir"] = "inside"
	assert.Assert(t, s.dispatch(t.Context(), "proc.start", inside).Err == nil)
}

// escapingLinks makes symbolic links, and returns paths through them that lead out of the root. The
// link "inside" leads to a directory of the root.
func (s *testService) escapingLinks(t testing.TB) []string {
	t.Helper()
	assert.NilError(t, os.Mkdir(filepath.Join(s.dir, "in"), 0o777))
	for name, target := range map[string]string{
		"abs": t.TempDir(), "rel": "../", "chain": "rel", "in/up": "../..", "inside": "in",
	} {
		link := filepath.Join(s.dir, name)
		err := os.Symlink(target, link)
		if err == nil {
			_, err = os.Lstat(link) // Wine reports success without a link
		}
		if err != nil {
			t.Skipf("no symbolic links can be made here: %v", err)
		}
	}
	return []string{"abs", "rel", "chain", "in/up", "abs/.", "rel/x"}
}

// garbage creates an executable file that is not a program, and returns its name.
func (s *testService) garbage(t testing.TB) string {
	t.Helper()
	name := "garbage" + executable
	s.put(t, name, "\x7fELFno", 0o755)
	return name
}

func TestProcStartFailures(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{})
	s.put(t, "plain.txt", "text\n", 0o644)
	garbage := s.garbage(t)
	withEnv := func(env ...string) args { return args{"command": self(t), "env": env} }
	withArgument := func(text string) args {
		return args{"command": self(t), "args": []string{text}}
	}
	for _, test := range []struct {
		arguments args
		code      dispatch.Code
		text      string
	}{
		{args{"command": "no-such-program"}, dispatch.NotFound, "not found in"},
		{args{"command": filepath.Join(t.TempDir(), "program")}, dispatch.NotFound, "program"},
		{args{"command": "./plain.txt/x"}, dispatch.NotFound, "plain.txt"},
		{args{"command": "./" + garbage}, dispatch.InvalidInput, "garbage"},
		{args{"command": ""}, dispatch.InvalidInput, "invalid arguments: command"},
		{args{}, dispatch.MissingParam, "command"},
		{args{"command": "copy\x00"}, dispatch.InvalidInput, "NUL"},
		{withArgument("a\x00b"), dispatch.InvalidInput, ""},
		{withEnv("A"), dispatch.InvalidInput, `env[0]: want NAME=VALUE, not "A"`},
		{withEnv("A=1", "=x"), dispatch.InvalidInput, "env[1]: "},
		{withEnv("A=1", "B=2", "A=3"), dispatch.InvalidInput, `env[2]: "A" is set twice`},
		{withEnv("A=a\x00b"), dispatch.InvalidInput, "NUL"},
		{withEnv("A=" + strings.Repeat("x", maxEnvironment)), dispatch.InvalidInput, "the maximum is"},
		{args{"command": self(t), "env": make([]string, 257)}, dispatch.InvalidInput,
			"invalid arguments: env"},
		{args{"command": self(t), "dir": "a\x00b"}, dispatch.InvalidInput, "NUL"},
	} {
		fails(t, s, "proc.start", test.arguments, test.code, test.text)
	}
	assert.Equal(t, len(run[ListOutput](t, s, "proc.list", nil).Sessions), 0)
}

func TestProcStartArgumentsTooLong(t *testing.T) {
	t.Parallel()
	if onWine() {
		t.Skip("Wine takes command lines of any length, Windows 32,767 characters")
	}
	s := newService(t, Options{})
	fails(t, s, "proc.start", program(t, strings.Repeat("x", 4<<20)), dispatch.InvalidInput,
		"too long")
}

// A caller's variables are added to a few inherited ones; the rest of this program's environment,
// with its secrets, is not inherited.
func TestProcStartEnvironment(t *testing.T) {
	t.Setenv("STDWIRE_TEST_SECRET", "s3cret")
	s := newService(t, Options{})
	a := program(t, "environ")
	a["env"] = []string{fixtureEnv + "=1", "TZ=Mars/Olympus", "OWN=1=2"}
	got := map[string]string{}
	for line := range strings.Lines(
		s.rest(t, run[StartOutput](t, s, "proc.start", a).Session).Output) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[strings.ToUpper(name)] = value
		assert.Assert(t, !strings.Contains(line, "s3cret"))
	}
	assert.Equal(t, got["TZ"], "Mars/Olympus")
	assert.Equal(t, got["OWN"], "1=2")
	assert.Equal(t, got["PATH"], os.Getenv("PATH"))
	// proc.list does not show values either.
	assert.Assert(t,
		!strings.Contains(string(s.dispatch(t.Context(), "proc.list", nil).Data), "Olympus"))
}

func TestProcNewID(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"python3": "python3-", "/usr/bin/python3": "python3-", "./a b.sh": "a_b_sh-",
		"/": "process-", "...": "process-", "ü": "process-",
		strings.Repeat("x", 100): strings.Repeat("x", maxIDName) + "-",
	} {
		id := newID(command)
		assert.Assert(t, strings.HasPrefix(id, want) &&
			len(id) == len(want)+6, "%s: %s", command, id)
	}
	assert.Assert(t, newID("x") != newID("x"))
}
