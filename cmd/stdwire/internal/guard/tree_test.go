//go:build linux || windows

package guard

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/processtest"
)

// Kill ends a tree of processes that ignore SIGTERM, some of them daemons, all of which hold
// stdout.
func TestKillTree(t *testing.T) {
	p := startCommand(t, fixtureCommand("tree"))
	pids := readPids(t, p.Stdout(), treePids)
	if err := p.Signal(syscall.SIGTERM); runtime.GOOS != "windows" { // without effect
		assert.NilError(t, err) // needs a console on Windows
	}
	p.Kill()
	waitFor(t, p.Done())
	allReaped(t, pids)
	assert.Equal(t, output(t, p), "") // end of file
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})
}

func TestTreeAfterItsLeader(t *testing.T) {
	p := startCommand(t, fixtureCommand("tree"))
	pids := readPids(t, p.Stdout(), treePids)
	_, err := io.WriteString(p.Stdin(), "leave\n")
	assert.NilError(t, err)
	waitFor(t, p.Done())
	allReaped(t, pids)
	assert.Equal(t, output(t, p), "")
	assert.Equal(t, p.Exit(), Exit{Code: 7})
}

func TestTreeAfterItsLeaderWasKilled(t *testing.T) {
	p := startCommand(t, fixtureCommand("tree"))
	pids := readPids(t, p.Stdout(), treePids)
	assert.NilError(t, p.Signal(syscall.SIGKILL))
	waitFor(t, p.Done())
	allReaped(t, pids)
	assert.Equal(t, p.Exit(), Exit{Code: -1, Signal: syscall.SIGKILL})
}

// A command that has guarded commands of its own ends them with it.
func TestGuardsWithinGuards(t *testing.T) {
	p := startCommand(t, fixtureCommand("program", "2"))
	pids := readPids(t, p.Stdout(), 2*programPids)
	p.Kill()
	waitFor(t, p.Done())
	allReaped(t, pids)
}

// startProgram runs a program with trees, and returns the ids of all processes, guards included.
func startProgram(t *testing.T, trees int) (program *exec.Cmd, stdin io.Closer, pids []int) {
	t.Helper()
	program = exec.Command(self(), strconv.Itoa(trees))
	program.Env = []string{fixtureEnv + "=program"}
	stdin, err := program.StdinPipe()
	assert.NilError(t, err)
	stdout, err := program.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, program.Start())
	t.Cleanup(func() {
		program.Process.Kill()
		program.Wait()
	})
	pids = readPids(t, stdout.(*os.File), trees*programPids)
	for _, pid := range pids {
		assert.Assert(t, processtest.Runs(pid))
	}
	return program, stdin, pids
}

// However the program ends, no process of 20 trees is left, and none of their guards.
func TestProgramEnds(t *testing.T) {
	for name, end := range map[string]func(program *os.Process, stdin io.Closer) error{
		"by SIGKILL": func(program *os.Process, _ io.Closer) error { return program.Kill() },
		"by SIGTERM": func(program *os.Process,
			_ io.Closer) error {
			return program.Signal(syscall.SIGTERM)
		},
		"by itself": func(_ *os.Process, stdin io.Closer) error { return stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "by SIGTERM" && runtime.GOOS == "windows" {
				t.Skip("Windows has no SIGTERM")
			}
			program, stdin, pids := startProgram(t, 20)
			assert.NilError(t, end(program.Process, stdin))
			processtest.AwaitEnd(t, pids...)
		})
	}
}
