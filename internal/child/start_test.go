//go:build unix

package child

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("plain", "#!/bin/sh\n", 0o644)
	write("lost", "#!/nonexistent/interpreter\n", 0o755)
	env := map[string]string{"PATH": "/nonexistent:.:" + dir}
	for _, c := range []struct {
		name string
		cfg  Config
		is   error
		want string
	}{
		{
			"not on the PATH", Config{Command: "no-such-command", Dir: dir, Env: env}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in $PATH (PATH /nonexistent:.:DIR, working directory DIR)`,
		},
		{
			"empty PATH", Config{Command: "no-such-command", Dir: dir, Env: map[string]string{"PATH": ""}}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in $PATH (PATH (empty), working directory DIR)`,
		},
		{
			"not executable", Config{Command: "plain", Dir: dir, Env: env}, fs.ErrPermission,
			`cannot start "plain": DIR/plain is not executable: permission denied (PATH /nonexistent:.:DIR, working directory DIR)`,
		},
		{
			"path, not executable", Config{Command: "./plain", Dir: dir}, fs.ErrPermission,
			`cannot start "./plain": permission denied (working directory DIR)`,
		},
		{
			"no such path", Config{Command: "./missing", Dir: dir}, fs.ErrNotExist,
			`cannot start "./missing": no such file or directory (working directory DIR)`,
		},
		{
			"no interpreter", Config{Command: "./lost", Dir: dir}, fs.ErrNotExist,
			`cannot start "./lost": the file exists, the interpreter or loader it names does not: no such file or directory (working directory DIR)`,
		},
		{
			"no working directory", Config{Command: "sh", Dir: dir + "/missing", Env: env}, fs.ErrNotExist,
			`cannot start "sh": the working directory cannot be used: no such file or directory (PATH /nonexistent:.:DIR, working directory DIR/missing)`,
		},
		{
			"a file for a working directory", Config{Command: "/bin/sh", Dir: dir + "/plain"}, nil,
			`cannot start "/bin/sh": the working directory is not a directory (working directory DIR/plain)`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.cfg)
			startErr, ok := errors.AsType[*StartError](err)
			assert.Assert(t, ok, "%T %v", err, err)
			assert.Equal(t, strings.ReplaceAll(err.Error(), dir, "DIR"), c.want)
			assert.Assert(t, c.is == nil || errors.Is(err, c.is))
			assert.Equal(t, startErr.Command, c.cfg.Command)
			assert.Equal(t, startErr.Hint, "")
		})
	}
}

func TestStartRefuses(t *testing.T) {
	_, err := Start(t.Context(), Config{})
	assert.ErrorContains(t, err, "no command")
	_, err = Start(expired(), Config{Command: "sh"})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Start(t.Context(), Config{Command: "sh", InheritEnv: []string{"[a"}})
	assert.ErrorIs(t, err, path.ErrBadPattern)
}

func TestStartHint(t *testing.T) {
	_, err := Start(t.Context(), Config{Command: "npx -y some-server"})
	startErr, ok := errors.AsType[*StartError](err)
	assert.Assert(t, ok)
	assert.Assert(t, cmp.Contains(startErr.Hint, "separately"))
}

// What lies in the working directory is not run by its bare name.
func TestStartSkipsRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile("tool", []byte("#!/bin/sh\n"), 0o755))
	for _, path := range []string{".", ":/nonexistent", "sub/.."} {
		_, err := Start(t.Context(), Config{Command: "tool", Env: map[string]string{"PATH": path}})
		assert.ErrorIs(t, err, exec.ErrNotFound)
	}
}

// A context that ends while the program is loaded leaves no child behind.
func TestStartContextEndsLate(t *testing.T) {
	ctx := &endsAfter{Context: expired(), asked: 1}
	var pid int
	_, err := start(ctx, shell("exec cat"), func(p int) bool { pid = p; return false })
	assert.ErrorIs(t, err, context.Canceled)
	assert.Assert(t, pid != 0)
	gone(t, pid)
}

// endsAfter is a context that says it has ended when asked more often than asked.
type endsAfter struct {
	context.Context
	asked int
}

func (c *endsAfter) Err() error {
	if c.asked--; c.asked >= 0 {
		return nil
	}
	return c.Context.Err()
}

// The program is looked for where the child would look, and a path starts at Dir.
func TestStartFinds(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "tool")
	assert.NilError(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$0\"; pwd\n"), 0o755))
	for _, cfg := range []Config{
		{Command: "tool", Dir: "/", Env: map[string]string{"PATH": dir}},
		{Command: "./tool", Dir: dir},
		{Command: script, Dir: "/"},
	} {
		p := startChild(t, cfg)
		out, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		file, cwd, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		assert.Equal(t, filepath.Base(file), "tool")
		want, err := filepath.EvalSymlinks(cfg.Dir)
		assert.NilError(t, err)
		assert.Equal(t, cwd, want)
	}
}

func TestStartEnvironment(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "hunter2")
	t.Setenv("CHILD_TEST_SLASH/y", "z")
	t.Setenv("XDG_CHILD_TEST", "kept")
	env := func(inherit ...string) string {
		p := startChild(t, Config{Command: "env", InheritEnv: inherit, Env: map[string]string{"ADDED": "one"}})
		out, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		return "\n" + string(out)
	}
	plain := env()
	assert.Assert(t, cmp.Contains(plain, "\nADDED=one\n"))
	assert.Assert(t, cmp.Contains(plain, "\nXDG_CHILD_TEST=kept\n"))
	assert.Assert(t, cmp.Contains(plain, "\nPATH="))
	assert.Assert(t, !strings.Contains(plain, "hunter2"))
	assert.Assert(t, cmp.Contains(env("CHILD_TEST_S*T"), "\nCHILD_TEST_SECRET=hunter2\n"))
	assert.Assert(t, cmp.Contains(env("*"), "\nCHILD_TEST_SLASH/y=z\n"))
}
