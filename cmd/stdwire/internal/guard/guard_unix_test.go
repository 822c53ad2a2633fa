//go:build unix

package guard

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/processtest"
)

func TestExitBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		p := startCommand(t, shell(fmt.Sprintf("kill -%d $$", sig)))
		assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: sig})
		assert.Equal(t, p.Exit().String(), fmt.Sprintf("ended by signal: %v", sig))
		assert.Assert(t, !processtest.Exists(p.Pid()))
	}
}

func TestSignal(t *testing.T) {
	// The shell, which has a trap, and a member of the group, which has none.
	p := startCommand(t,
		shell(`sleep 100 & trap 'wait; echo caught; exit 4' USR1; echo ready; while :; do wait; done`))
	buf := make([]byte, 6)
	_, err := io.ReadFull(p.Stdout(), buf)
	assert.NilError(t, err)
	assert.NilError(t, p.Signal(syscall.SIGUSR1))
	assert.Equal(t, output(t, p), "caught\n")
	assert.Equal(t, p.Exit(), Exit{Code: 4})

	assert.ErrorIs(t, p.Signal(syscall.SIGTERM), os.ErrProcessDone)
	for _, sig := range []syscall.Signal{0, -1, 65} {
		assert.ErrorIs(t, p.Signal(sig), syscall.EINVAL)
	}
}

func TestSignalStopped(t *testing.T) {
	p := startCommand(t, shell("echo; exec cat"))
	_, err := p.Stdout().Read(make([]byte, 1))
	assert.NilError(t, err)
	assert.NilError(t, p.Signal(syscall.SIGSTOP))
	assert.NilError(t, p.Signal(syscall.SIGTERM)) // waits
	assert.NilError(t, p.Signal(syscall.SIGCONT))
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGTERM})

	p = startCommand(t, shell("exec cat"))
	assert.NilError(t, p.Signal(syscall.SIGSTOP))
	p.Kill()
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})

	// Even with the guard stopped.
	p = startCommand(t, shell("exec cat"))
	assert.NilError(t, p.guard.Signal(syscall.SIGSTOP))
	p.Kill()
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})
}

// A stopped guard queues signals until there are too many.
func TestSignalBounded(t *testing.T) {
	p := startCommand(t, shell("exec cat"))
	assert.NilError(t, p.guard.Signal(syscall.SIGSTOP))
	var err error
	for range 1 << 20 {
		if err = p.Signal(syscall.SIGCONT); err != nil {
			break
		}
	}
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestDirectory(t *testing.T) {
	parent, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	assert.NilError(t, os.Mkdir(filepath.Join(parent, "old"), 0o755))
	dir, err := os.Open(filepath.Join(parent, "old"))
	assert.NilError(t, err)
	defer dir.Close()
	// The directory is replaced.
	assert.NilError(t, os.Rename(filepath.Join(parent, "old"), filepath.Join(parent, "new")))
	assert.NilError(t, os.Mkdir(filepath.Join(parent, "old"), 0o755))
	assert.NilError(t,
		os.WriteFile(filepath.Join(parent, "new", "tool"), []byte("#!/bin/sh\npwd -P\n"), 0o755))

	for _, name := range []string{"./tool", "../new/tool"} {
		p := startCommand(t, Command{Name: name, Dir: dir, Env: os.Environ()})
		assert.Equal(t, output(t, p), filepath.Join(parent, "new")+"\n")
	}
	own, err := os.Getwd()
	assert.NilError(t, err)
	assert.Equal(t, output(t, startCommand(t, shell("pwd -P"))), own+"\n")
	_, err = dir.Stat()
	assert.NilError(t, err) // still open
}

// The command has three open files, whatever files this program inherited. They block, as programs
// expect.
func TestFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	leak, err := syscall.Dup(0) // without close-on-exec
	assert.NilError(t, err)
	defer syscall.Close(leak)
	dir, err := os.Open(".")
	assert.NilError(t, err)
	defer dir.Close()
	// The shell opens nothing; ls opens the directory it lists.
	p := startCommand(t,
		Command{Name: "sh", Args: []string{"-c", "ls /proc/$$/fd; cat /proc/$$/fdinfo/[012]"},
			Env: os.Environ(), Dir: dir})
	files, info, _ := strings.Cut(output(t, p), "pos:")
	assert.Equal(t, files, "0\n1\n2\n")
	for _, line := range strings.Split(info, "\n") {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			var bits int
			_, err := fmt.Sscanf(flags, "%o", &bits)
			assert.NilError(t, err)
			assert.Equal(t, bits&syscall.O_NONBLOCK, 0)
		}
	}
}

// Signals have their default actions, even if this program ignores them.
func TestSignalsAreDefault(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	signal.Ignore(syscall.SIGUSR2)
	defer signal.Reset(syscall.SIGUSR2)
	p := startCommand(t,
		Command{Name: "sh", Args: []string{"-c", "exec grep -E 'Sig(Blk|Ign)' /proc/self/status"},
			Env: os.Environ()})
	for line := range strings.Lines(output(t, p)) {
		assert.Assert(t, strings.HasSuffix(line, "\t0000000000000000\n"), line)
	}
}

// The command is in a group of its own, and so is the guard: a Ctrl-C reaches neither.
func TestGroups(t *testing.T) {
	p := startCommand(t, shell("exec cat"))
	group, err := syscall.Getpgid(p.Pid())
	assert.NilError(t, err)
	assert.Equal(t, group, p.Pid())
	group, err = syscall.Getpgid(p.guard.Pid)
	assert.NilError(t, err)
	assert.Equal(t, group, p.guard.Pid)
}

// The guard survives every signal that it gets.
func TestGuardIgnoresSignals(t *testing.T) {
	p := startCommand(t, shell("exec cat"))
	for _, sig := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGABRT, syscall.SIGCHLD, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
		syscall.SIGURG, syscall.SIGWINCH, syscall.SIGTRAP, syscall.SIGSEGV,
	} {
		assert.NilError(t, p.guard.Signal(sig))
	}
	_, err := io.WriteString(p.Stdin(), "still here")
	assert.NilError(t, err)
	assert.NilError(t, p.Stdin().Close())
	assert.Equal(t, output(t, p), "still here")
	assert.Equal(t, p.Exit(), Exit{})
}

// The command gets its environment unchanged, and the guard gets none of it.
func TestEnvironment(t *testing.T) {
	t.Setenv("GUARD_TEST_SECRET", "hunter2")
	c := Command{Name: "env",
		Env: []string{"GOMAXPROCS=x", "GODEBUG=inittrace=1", "GOTRACEBACK=crash", "ODD=\xff \n=",
			"EMPTY="}}
	p := startCommand(t, c)
	assert.Equal(t, output(t, p), strings.Join(c.Env, "\n")+"\n")
	stderr, err := io.ReadAll(p.Stderr())
	assert.NilError(t, err)
	assert.Equal(t, string(stderr), "")
	assert.Equal(t, output(t, startCommand(t, Command{Name: "env"})), "")
}

func TestArgumentsAreUnchanged(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	p := startCommand(t, Command{Name: "printf", Args: []string{"[%s]", "", "a b", "\xff\n", long}})
	assert.Equal(t, output(t, p), "[][a b][\xff\n]["+long+"]")
	p = startCommand(t, Command{Name: "sh", Args: []string{"-c", "echo $0"}})
	assert.Equal(t, output(t, p), "sh\n")
}
