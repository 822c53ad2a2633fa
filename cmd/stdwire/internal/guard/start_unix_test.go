//go:build unix

package guard

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/internal/processgroup"
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
	write("junk", "\x00\x01\x02", 0o755)
	workDir, err := os.Open(dir)
	assert.NilError(t, err)
	defer workDir.Close()
	file, err := os.Open(filepath.Join(dir, "plain"))
	assert.NilError(t, err)
	defer file.Close()
	closed, err := os.Open(dir)
	assert.NilError(t, err)
	assert.NilError(t, closed.Close())

	for _, c := range []struct {
		name    string
		command Command
		is      error
		want    string
	}{
		{"not on the PATH", Command{Name: "no-such-command"}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in $PATH`},
		{"no such path", Command{Name: "./missing", Dir: workDir}, fs.ErrNotExist,
			`cannot start "./missing": no such file or directory`},
		{"not executable", Command{Name: "./plain", Dir: workDir}, fs.ErrPermission,
			`cannot start "./plain": permission denied`},
		{"a directory", Command{Name: dir}, fs.ErrPermission,
			`cannot start "DIR": permission denied`},
		{"no program", Command{Name: "./junk", Dir: workDir}, syscall.ENOEXEC,
			`cannot start "./junk": exec format error`},
		{
			"no interpreter", Command{Name: "./lost", Dir: workDir}, fs.ErrNotExist,
			`cannot start "./lost": the file exists, the interpreter or loader it names does not: no such file or directory`,
		},
		{
			"a file for a directory", Command{Name: "sh", Dir: file}, syscall.ENOTDIR,
			`cannot start "sh": the working directory cannot be entered: not a directory`,
		},
		{"no name", Command{}, nil, `cannot start "": the command has no name`},
		{
			"NUL in an argument", Command{Name: "sh", Args: []string{"a\x00b"}}, syscall.EINVAL,
			`cannot start "sh": the name, an argument or the environment contains a NUL byte: invalid argument`,
		},
		{"NUL in the environment", Command{Name: "sh", Env: []string{"SECRET=\x00hunter2"}},
			syscall.EINVAL, ""},
		{"too much for the system", Command{Name: "sh", Args: []string{strings.Repeat("x", 7<<20)}},
			syscall.E2BIG, ""},
		{
			"too much for us", Command{Name: "sh", Args: []string{strings.Repeat("x", 8<<20)}},
			syscall.E2BIG, "",
		},
		{"a closed directory", Command{Name: "sh", Dir: closed}, os.ErrClosed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.command)
			startErr, ok := errors.AsType[*StartError](err)
			assert.Assert(t, ok, "%T %v", err, err)
			assert.Equal(t, startErr.Name, c.command.Name)
			if c.want != "" {
				assert.Equal(t, strings.ReplaceAll(err.Error(), dir, "DIR"), c.want)
			}
			assert.Assert(t, c.is == nil || errors.Is(err, c.is), "%v", err)
			assert.Assert(t, !strings.Contains(err.Error(), "hunter2"))
		})
	}
}

// A program that does not call Main runs normally instead of as a guard. It must not start a guard
// in turn.
func TestStartWithoutMain(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{args[0], guardArg}
	_, err := Start(t.Context(), shell("exit 0"))
	assert.ErrorContains(t, err, "has to call guard.Main first")
}

// A guard without a request does nothing.
func TestGuardByHand(t *testing.T) {
	out, err := exec.Command(os.Args[0], guardArg).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	assert.Assert(t, ok, "%v", err)
	assert.Equal(t, exit.ExitCode(), 2)
	assert.Assert(t, cmp.Contains(string(out), "__guard is for internal use"))
}

// A guard does nothing if the program is killed while it writes the request.
func TestGuardWithPartialRequest(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	message, err := request{parent: os.Getpid(), path: "/bin/mkdir",
		args: []string{"mkdir", made}}.encode()
	assert.NilError(t, err)
	for cut, want := range map[int]error{1: fs.ErrNotExist, 0: nil} {
		r, w, err := os.Pipe()
		assert.NilError(t, err)
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		assert.NilError(t, err)
		cmd := exec.Command(os.Args[0], guardArg)
		cmd.ExtraFiles = []*os.File{r, null, null, null, null}
		assert.NilError(t, cmd.Start())
		processgroup.CloseAll(r, null)
		_, err = w.Write(message[:len(message)-cut])
		assert.NilError(t, err)
		if cut == 0 {
			defer w.Close() // a whole request is carried out while control is open
		} else {
			assert.NilError(t, w.Close())
		}
		cmd.Wait()
		_, err = os.Stat(made)
		assert.ErrorIs(t, err, want)
		assert.NilError(t, os.RemoveAll(made))
	}
}
