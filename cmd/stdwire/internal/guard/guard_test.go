package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
)

func TestExit(t *testing.T) {
	for _, c := range []struct {
		step string
		want Exit
		text string
	}{
		{"exit 0", Exit{}, "exited with status 0"},
		{"exit 3", Exit{Code: 3}, "exited with status 3"},
		{"exit 255", Exit{Code: 255}, "exited with status 255"},
	} {
		p := startCommand(t, scriptCommand(c.step))
		waitFor(t, p.Done())
		assert.Equal(t, p.Exit(), c.want)
		assert.Equal(t, p.Exit().String(), c.text)
		assert.Assert(t, !processtest.Exists(p.Pid()))
	}
}

func TestStreams(t *testing.T) {
	p := startCommand(t, scriptCommand("line", "cat", "err oops\n"))
	_, err := io.WriteString(p.Stdin(), "hello\nrest")
	assert.NilError(t, err)
	assert.NilError(t, p.Stdin().Close())
	assert.Equal(t, output(t, p), "got hello\nrest")
	stderr, err := io.ReadAll(p.Stderr())
	assert.NilError(t, err)
	assert.Equal(t, string(stderr), "oops\n")
	assert.Equal(t, p.Exit(), Exit{})
}

// Merged output is in the order in which it was written.
func TestMergedOutput(t *testing.T) {
	var steps []string
	for i := 1; i <= 9; i++ {
		steps = append(steps, fmt.Sprintf("out %d\n", i), fmt.Sprintf("err %d\n", i))
	}
	c := scriptCommand(steps...)
	c.Merged = true
	p := startCommand(t, c)
	assert.Equal(t, output(t, p), "1\n1\n2\n2\n3\n3\n4\n4\n5\n5\n6\n6\n7\n7\n8\n8\n9\n9\n")
	stderr, err := io.ReadAll(p.Stderr())
	assert.NilError(t, err)
	assert.Equal(t, len(stderr), 0)
}

// Output can be read after the end, and no process holds a pipe open that the command has closed.
func TestEndOfFile(t *testing.T) {
	p := startCommand(t, scriptCommand("out early", "close stdout", "read", "close stdin", "hang"))
	assert.Equal(t, output(t, p), "early") // with the command alive
	assert.Assert(t, processtest.Runs(p.Pid()))
	_, err := io.WriteString(p.Stdin(), "on\n")
	assert.NilError(t, err)
	eventually.True(t, "writes fail", func() bool {
		_, err := io.WriteString(p.Stdin(), "x")
		return errors.Is(err, brokenPipe)
	})

	p = startCommand(t, scriptCommand("out late", "exit 1"))
	waitFor(t, p.Done())
	assert.Equal(t, output(t, p), "late")
	_, err = p.Stdin().Write([]byte("x"))
	assert.ErrorIs(t, err, brokenPipe)
}

func TestKillTwice(t *testing.T) {
	p := startCommand(t, scriptCommand("cat"))
	p.Kill()
	p.Kill()
	assert.ErrorIs(t, p.Signal(syscall.SIGTERM), os.ErrProcessDone)
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})
	p.Kill()
}

func TestManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			p, err := Start(t.Context(), scriptCommand("cat", fmt.Sprintf("exit %d", i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer processgroup.CloseAll(p.stdout, p.stderr)
			defer p.Kill()
			io.WriteString(p.Stdin(), strings.Repeat("x", i))
			p.Stdin().Close()
			out, err := io.ReadAll(p.Stdout())
			if err != nil || len(out) != i {
				t.Errorf("%d: read %q, %v", i, out, err)
			}
			if exit := p.Exit(); exit != (Exit{Code: i}) {
				t.Errorf("%d: %v", i, exit)
			}
		})
	}
	all.Wait()
}

// Nothing remains but the three files that the caller owns.
func TestNothingLeft(t *testing.T) {
	<-startCommand(t, scriptCommand("exit 0")).Done() // lets the runtime allocate what it keeps
	goroutines, files := runtime.NumGoroutine(), processtest.OpenFiles()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		p, err := Start(t.Context(), scriptCommand("cat"))
		assert.NilError(t, err)
		p.Kill()
		waitFor(t, p.Done())
		processgroup.CloseAll(p.Stdin(), p.Stdout(), p.Stderr())
		assert.Equal(t, processtest.OpenFiles(), files)

		_, err = Start(t.Context(), Command{Name: filepath.Join(t.TempDir(), "missing")})
		assert.ErrorIs(t, err, os.ErrNotExist)
		_, err = Start(cancelled, scriptCommand("exit 0"))
		assert.ErrorIs(t, err, context.Canceled)
		eventually.True(t, "no more files than before",
			func() bool { return processtest.OpenFiles() == files })
	}
	eventually.AtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
}

func TestArguments(t *testing.T) {
	steps := []string{"args", "", "a b", `a"b\`, "é\n", strings.Repeat("x", 20_000)}
	assert.Equal(t, output(t, startCommand(t, scriptCommand(steps...))), fmt.Sprintf("%q\n", steps))
}

// A name is searched on this program's PATH, not on the command's, nor in the directory.
func TestLookup(t *testing.T) {
	dir := t.TempDir()
	image, err := os.ReadFile(self())
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, programName), image, 0o755))
	workDir, err := os.Open(dir)
	assert.NilError(t, err)
	defer workDir.Close()
	c := scriptCommand("out found")
	c.Name, c.Dir = "tool", workDir
	c.Env = append(c.Env, "PATH="+dir)
	_, err = Start(t.Context(), c)
	assert.ErrorIs(t, err, exec.ErrNotFound)

	t.Setenv("PATH", dir)
	c.Env = c.Env[:1]
	assert.Equal(t, output(t, startCommand(t, c)), "found")

	t.Chdir(dir)
	t.Setenv("PATH", ".")
	_, err = Start(t.Context(), c)
	assert.ErrorIs(t, err, exec.ErrDot)
}

func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("because"))
	_, err := Start(ctx, scriptCommand("exit 0"))
	assert.Equal(t, err, context.Canceled)
}

// The command runs in the directory, at which a relative path starts.
func TestRunsInDirectory(t *testing.T) {
	parent := t.TempDir()
	image, err := os.ReadFile(self())
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(parent, programName), image, 0o755))
	assert.NilError(t, os.Mkdir(filepath.Join(parent, "sub"), 0o755))
	dir, err := os.Open(filepath.Join(parent, "sub"))
	assert.NilError(t, err)
	defer dir.Close()
	c := scriptCommand("directory")
	c.Name, c.Dir = filepath.Join("..", programName), dir
	got, err := os.Stat(output(t, startCommand(t, c)))
	assert.NilError(t, err)
	want, err := dir.Stat()
	assert.NilError(t, err)
	assert.Assert(t, os.SameFile(got, want))
}

// The environment is the one given, and SYSTEMROOT on Windows.
func TestEnvironmentIsGiven(t *testing.T) {
	t.Setenv("GUARD_TEST_SECRET", "hunter2")
	c := scriptCommand("environ")
	c.Env = append(c.Env, "ODD= =", "EMPTY=")
	got := strings.Split(output(t, startCommand(t, c)), "\n")
	got = slices.DeleteFunc(got, func(kv string) bool { return systemVariable(kv) })
	slices.Sort(got)
	assert.DeepEqual(t, got, []string{"EMPTY=", fixtureEnv + "=script", "ODD= ="})
}

func TestWriteDeadline(t *testing.T) {
	p := startCommand(t, scriptCommand("hang"))
	assert.NilError(t, p.Stdin().SetWriteDeadline(time.Now().Add(10*time.Millisecond)))
	_, err := p.Stdin().Write(make([]byte, 1<<20))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
