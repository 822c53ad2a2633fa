package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"text.exe", "plain", "batch.cmd"} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o666))
	}
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
		{
			"not on the PATH", Command{Name: "no-such-command"}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in %PATH%`,
		},
		{"no such path", Command{Name: `.\missing`, Dir: workDir}, fs.ErrNotExist, ""},
		{"no extension", Command{Name: `.\plain`, Dir: workDir}, fs.ErrNotExist, ""},
		{"a directory", Command{Name: dir}, fs.ErrNotExist, ""},
		{"no program", Command{Name: `.\text`, Dir: workDir}, nil, ""},
		{"a file for a directory", Command{Name: self(), Dir: file}, syscall.ENOTDIR, ""},
		{"a closed directory", Command{Name: self(), Dir: closed}, nil, ""},
		{"no name", Command{}, nil, `cannot start "": the command has no name`},
		{"NUL in an argument", Command{Name: self(), Args: []string{"a\x00b"}}, syscall.EINVAL, ""},
		{"NUL in the environment", Command{Name: self(), Env: []string{"SECRET=\x00hunter2"}}, nil,
			""},
		{
			"an operator", Command{Name: `.\batch`, Args: []string{`"&ver`}, Dir: workDir}, nil,
			`cannot start ".\\batch": argument 1 of a batch file: cmd.exe would take '&' for an operator, ` +
				`as it is behind a double quote: run the program that the batch file starts`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.command)
			startErr, ok := errors.AsType[*StartError](err)
			assert.Assert(t, ok, "%T %v", err, err)
			assert.Equal(t, startErr.Name, c.command.Name)
			assert.Assert(t, c.want == "" || err.Error() == c.want, "%v", err)
			assert.Assert(t, c.is == nil || errors.Is(err, c.is), "%v", err)
			assert.Assert(t, !strings.Contains(err.Error(), "hunter2"))
		})
	}
}

// A batch file gets its arguments unchanged, and cmd.exe runs none of them.
func TestBatchFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "launch.bat")
	assert.NilError(t, os.WriteFile(file, []byte("@\"%FIXTURE%\" %*\r\n"), 0o666))
	workDir, err := os.Open(dir)
	assert.NilError(t, err)
	defer workDir.Close()
	c := scriptCommand("args", "&echo pwned>pwned.txt&", "a b", "x=y&z")
	c.Name, c.Dir = `.\launch`, workDir
	c.Env = append(c.Env, "FIXTURE="+self())
	assert.Equal(t, output(t, startCommand(t, c)),
		`["args" "&echo pwned>pwned.txt&" "a b" "x=y&z"]`+"\n")
	_, err = os.Stat(filepath.Join(dir, "pwned.txt"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSignal(t *testing.T) {
	p := startCommand(t, scriptCommand("out ready", "hang"))
	_, err := io.ReadFull(p.Stdout(), make([]byte, len("ready")))
	assert.NilError(t, err)
	assert.ErrorIs(t, p.Signal(syscall.SIGHUP), errors.ErrUnsupported)
	assert.NilError(t, p.Signal(syscall.SIGKILL))
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		assert.ErrorIs(t, p.Signal(sig), os.ErrProcessDone)
	}
}
