package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// copyOfSelf copies this test program to a new directory under another name, and returns its path.
func copyOfSelf(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(self(t))
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), name+executable)
	assert.NilError(t, os.WriteFile(path, content, 0o755))
	return path
}

// onPath prepends a directory to PATH.
func onPath(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// programNamed returns what program returns, with another command.
func programNamed(t testing.TB, command string, steps ...string) args {
	t.Helper()
	a := program(t, steps...)
	a["command"] = command
	return a
}

// notAllowed checks that none of these commands may be started.
func (s *testService) notAllowed(t testing.TB, commands []string) {
	t.Helper()
	for _, command := range commands {
		envelope := s.dispatch(t.Context(), "proc.start", programNamed(t, command))
		assert.Assert(t, envelope.Err != nil, "%q: %s", command, envelope.Data)
		assert.Equal(t, envelope.Err.Code, dispatch.PermissionDenied, "%q: %v", command,
			envelope.Err)
		assert.DeepEqual(t, details[[]string](t, envelope.Err, "allowed"), []string(s.allow))
	}
}

func TestProcAllow(t *testing.T) {
	tool, other := copyOfSelf(t, "tool"), copyOfSelf(t, "other")
	onPath(t, filepath.Dir(tool))
	onPath(t, filepath.Dir(other))
	s := newService(t, Options{Allow: []string{"tool", other}})
	for _, command := range []string{"tool", other} {
		run[StartOutput](t, s, "proc.start", programNamed(t, command))
	}
	s.tool(t, ".")
	dir := filepath.Dir(other)
	s.notAllowed(t, []string{
		"sh", "other", tool, "./tool", "tool ", " tool", "tool.", "tool\n", "tool;sh", "tool sh",
		"bin/../tool", "./sub/../tool", other + "/../sh", dir + "/./other", dir + "//other",
		filepath.Join(s.dir, "tool"), ".", "..", "*", "-c", strings.TrimPrefix(other, dir),
	})
}

// An allowed name is a program on the PATH of this program, never one in the working directory.
func TestProcAllowNotFromDirectory(t *testing.T) {
	tool := copyOfSelf(t, "tool")
	onPath(t, filepath.Dir(tool))
	s := newService(t, Options{Allow: []string{"tool"}})
	s.tool(t, ".")
	id := run[StartOutput](t, s, "proc.start", programNamed(t, "tool", "executable")).Session
	assert.Equal(t, strings.TrimSpace(s.rest(t, id).Output), tool)
}

func TestProcAllowEnvironment(t *testing.T) {
	t.Parallel()
	s := newService(t, Options{Allow: []string{self(t)}})
	with := func(name string) args {
		a := program(t, "environ")
		a["env"] = []string{fixtureEnv + "=1", name + "=x"}
		return a
	}
	for _, name := range []string{
		"PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES",
		"BASH_ENV", "ENV", "BASH_FUNC_ls%%", "SHELLOPTS", "PS4",
		"NODE_OPTIONS", "NODE_PATH", "npm_config_script_shell", "npm_config_//registry/:x",
		"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB",
		"RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GIT_SSH_COMMAND",
		"GIT_EXEC_PATH", "GIT_CONFIG_COUNT", "GIT_PAGER", "PAGER", "MANPAGER",
		"EDITOR", "VISUAL", "LESSOPEN", "GOFLAGS", "GOTOOLCHAIN", "MAKEFLAGS", "HOME",
		"XDG_CONFIG_HOME", "IFS", "SHELL", "RUSTC_WRAPPER", "LUA_INIT",
		"ComSpec", "PATHEXT", "SystemRoot", "windir", "APPDATA", "LOCALAPPDATA", "USERPROFILE",
		"HOMEPATH", "ProgramFiles(x86)", "COR_PROFILER_PATH", "__COMPAT_LAYER",
	} {
		err := fails(t, s, "proc.start", with(name), dispatch.Blocked, name)
		assert.Equal(t, details[string](t, err, "name"), name)
	}
	for _, name := range []string{
		"LANG", "TZ", "CI", "NO_COLOR", "TERM", "MY_PATH", "DEBUG", "PORT", "DATABASE_URL",
	} {
		run[StartOutput](t, s, "proc.start", with(name))
	}
	// Without a list, all variables may be set.
	free := newService(t, Options{})
	id := run[StartOutput](t, free, "proc.start", with("BASH_ENV")).Session
	free.expect(t, id, "^BASH_ENV=x$")
}

func TestProcAllowEntries(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "./x", "bin/x", "../x"} {
		_, err := newAllowList([]string{"git", bad})
		assert.ErrorContains(t, err, "absolute path")
	}
}
