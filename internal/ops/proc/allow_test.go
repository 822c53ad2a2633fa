//go:build unix

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestProcAllow(t *testing.T) {
	t.Parallel()
	cat, err := exec.LookPath("cat")
	assert.NilError(t, err)
	echo, err := exec.LookPath("echo")
	assert.NilError(t, err)
	b := newBench(t, Options{Allow: []string{"cat", echo}})
	for _, command := range []string{"cat", echo} {
		assert.Assert(t, b.dispatch(t.Context(), "proc.start", args{"command": command}).Success(), command)
	}
	b.put(t, "cat", "#!/bin/sh\necho pwned\n", 0o755)
	b.put(t, filepath.Base(echo), "#!/bin/sh\necho pwned\n", 0o755)
	assert.NilError(t, os.Symlink("/bin/sh", filepath.Join(b.dir, "link")))
	for _, command := range []string{
		"sh", "echo", cat, "./cat", "cat ", " cat", "CAT", "cat\n", "cat;sh", "cat sh", "bin/../cat", "./link", "link", "./sub/../cat",
		echo + "/../sh", filepath.Dir(echo) + "/./echo", filepath.Dir(echo) + "//echo", filepath.Join(b.dir, "cat"), ".", "..", "*", "-c",
	} {
		envelope := b.dispatch(t.Context(), "proc.start", args{"command": command})
		assert.Assert(t, envelope.Err != nil, "%q: %s", command, envelope.Data)
		assert.Equal(t, envelope.Err.Code, dispatch.PermissionDenied, "%q: %v", command, envelope.Err)
		assert.DeepEqual(t, details[[]string](t, envelope.Err, "allowed"), []string{echo, "cat"})
	}
}

// An allowed name is that of the program on the PATH of this program, whatever lies in the directory.
func TestProcAllowNotFromDirectory(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Allow: []string{"true"}})
	b.put(t, "true", "#!/bin/sh\necho pwned\n", 0o755)
	id := run[StartOutput](t, b, "proc.start", args{"command": "true"}).Session
	assert.Equal(t, b.rest(t, id).Output, "")
}

func TestProcAllowEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Allow: []string{"env"}})
	for _, name := range []string{
		"PATH", "Path", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "BASH_FUNC_ls%%", "SHELLOPTS", "PS4",
		"NODE_OPTIONS", "NODE_PATH", "npm_config_script_shell", "npm_config_//registry/:x", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB",
		"RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_CONFIG_COUNT", "GIT_PAGER", "PAGER", "MANPAGER",
		"EDITOR", "VISUAL", "LESSOPEN", "GOFLAGS", "GOTOOLCHAIN", "MAKEFLAGS", "HOME", "XDG_CONFIG_HOME", "IFS", "SHELL", "RUSTC_WRAPPER", "LUA_INIT",
	} {
		err := fails(t, b, "proc.start", args{"command": "env", "env": args{"OK": "1", name: "x"}}, dispatch.Blocked, name)
		assert.Equal(t, details[string](t, err, "name"), name)
	}
	for _, name := range []string{"LANG", "TZ", "CI", "NO_COLOR", "TERM", "MY_PATH", "DEBUG", "PORT", "DATABASE_URL"} {
		assert.Assert(t, b.dispatch(t.Context(), "proc.start", args{"command": "env", "env": args{name: "x"}}).Success(), name)
	}
	// Without a list, all may be set.
	free := newBench(t, Options{})
	id := run[StartOutput](t, free, "proc.start", args{"command": "env", "env": args{"BASH_ENV": "x"}}).Session
	free.expect(t, id, "^BASH_ENV=x$")
}

// The list is of what proc.start starts. Scripts have a gate of their own, and nothing else.
func TestProcAllowIsNotForEval(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Allow: []string{}})
	assert.DeepEqual(t, details[[]string](t, fails(t, b, "proc.start", args{"command": "cat"}, dispatch.PermissionDenied, ""), "allowed"), []string{})
	assert.Equal(t, run[EvalOutput](t, b, "proc.eval", args{"script": "echo $PATH", "env": args{"PATH": "/x"}}).Output, "/x\n")
}

func TestProcAllowEntries(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "./x", "bin/x", "../x"} {
		_, err := newAllowList([]string{"git", bad})
		assert.ErrorContains(t, err, "absolute path")
	}
}
