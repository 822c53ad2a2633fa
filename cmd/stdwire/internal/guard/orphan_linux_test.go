package guard

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/processtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A daemon that ends while the command runs is reaped.
func TestDaemonReaped(t *testing.T) {
	p := startCommand(t, shell("(setsid sh -c 'echo $$; read line <&3' 3<&0 &) ; exec sleep 100"))
	pid := readPids(t, p.Stdout(), 1)[0]
	assert.NilError(t, p.Stdin().Close())
	eventually.True(t, "the daemon is reaped", func() bool { return !processtest.Exists(pid) })
	assert.Assert(t, processtest.Runs(p.Pid()))
}

// At whatever moment the context of a start ends, no process is left if Start fails.
func TestStartCutShort(t *testing.T) {
	succeeded, failed := 0, 0
	for i := range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		p, err := Start(ctx, shell("trap '' TERM; sleep 100 & wait"))
		cancel()
		if err != nil {
			assert.Equal(t, err, context.DeadlineExceeded)
			failed++
			continue
		}
		succeeded++
		assert.Assert(t, processtest.Runs(p.Pid())) // the context no longer matters
		p.Kill()
		waitFor(t, p.Done())
		processgroup.CloseAll(p.Stdin(), p.Stdout(), p.Stderr())
	}
	t.Logf("%d started, %d did not", succeeded, failed)
	assert.Assert(t, failed > 0)
	self := os.Getpid()
	eventually.True(t, "no guard is left", func() bool {
		names, err := filepath.Glob("/proc/[0-9]*")
		assert.NilError(t, err)
		return !slices.ContainsFunc(names, func(name string) bool {
			p, ok := stat(filepath.Base(name))
			return ok && p.parent == self
		})
	})
}

// A process that inherited the control pipe by accident does not keep the command alive.
func TestProgramKilledWhileControlIsHeld(t *testing.T) {
	program := exec.Command(os.Args[0])
	program.Env = []string{fixtureEnv + "=leaky", "PATH=" + os.Getenv("PATH")}
	stdout, err := program.StdoutPipe()
	assert.NilError(t, err)
	stdin, err := program.StdinPipe()
	assert.NilError(t, err)
	defer stdin.Close()
	assert.NilError(t, program.Start())
	defer program.Wait()
	defer program.Process.Kill()
	pids := readPids(t, stdout.(*os.File), 3)
	assert.NilError(t, program.Process.Kill())
	processtest.AwaitEnd(t, pids[1:]...)
	assert.Assert(t, processtest.Runs(pids[0]))
}

// The death of the guard is noticed; only processes that left the group survive.
func TestGuardKilled(t *testing.T) {
	p := startCommand(t, fixtureCommand("tree"))
	pids := readPids(t, p.Stdout(), treePids)
	var inGroup, outside []int
	for _, pid := range pids {
		if group, _ := syscall.Getpgid(pid); group == p.Pid() {
			inGroup = append(inGroup, pid)
		} else {
			outside = append(outside, pid)
		}
	}
	assert.Equal(t, len(inGroup), 2)
	assert.NilError(t, p.guard.Kill())
	waitFor(t, p.Done())
	processtest.AwaitEnd(t, inGroup...)
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL, Lost: true})
	assert.Equal(t, p.Exit().String(), "killed, because its guard was killed")
	for _, pid := range outside {
		assert.Assert(t, processtest.Runs(pid))
	}
}

// If the program is stopped at that moment, the command still dies with its guard.
func TestGuardKilledWhileProgramIsStopped(t *testing.T) {
	program, _, pids := startProgram(t, 1)
	guard, leader := pids[0], pids[1]
	assert.NilError(t, program.Process.Signal(syscall.SIGSTOP))
	assert.NilError(t, syscall.Kill(guard, syscall.SIGKILL))
	processtest.AwaitEnd(t, leader)
}

// If /proc shows the processes of another namespace, no command is started, because wrong processes
// could be killed.
func TestForeignProc(t *testing.T) {
	program := exec.Command(os.Args[0], "1")
	program.Env = []string{fixtureEnv + "=program"}
	program.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	stdin, w, err := os.Pipe()
	assert.NilError(t, err)
	defer processgroup.CloseAll(stdin, w)
	program.Stdin = stdin
	out, err := program.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to make a namespace")
	}
	assert.ErrorContains(t, err, "exit status 2")
	assert.Assert(t, cmp.Contains(string(out), "mount the /proc of this PID namespace"))
}

// Processes that change sessions all the time are killed too.
func TestProcessesThatChangeSession(t *testing.T) {
	for _, c := range [][]string{
		{"200000", "leave"},
		{"1500", "stay"},
	} {
		p := startCommand(t, fixtureCommand("forkSessions", c...))
		_, err := io.ReadFull(p.Stdout(), make([]byte, len("on\n")))
		assert.NilError(t, err)
		p.Kill()
		waitFor(t, p.Done())
		assert.Equal(t, output(t, p), "") // before the end
	}
}
