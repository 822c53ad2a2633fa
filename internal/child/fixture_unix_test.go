//go:build unix

package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/processtest"
)

const (
	programName = "tool"
	pipeHolds   = 48 << 10
)

var systemFixtures = map[string]func(){
	// escape starts a process that holds stdout and stderr in a session of its own.
	"escape": func() {
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	},
}

func systemRungs(short time.Duration) []rung {
	return []rung{
		{"SIGTERM", shell("trap 'exit 7' TERM; sleep 300 & echo ready; while :; do wait; done"),
			short, 1, "exited with status 7"},
		{"SIGTERM, unhandled", shell("echo ready; exec sleep 300"), short, 1,
			"ended by signal: terminated"},
		{"SIGKILL", fixture("stubborn"), short, 2, "ended by signal: killed"},
	}
}

func shell(script string) Config {
	return Config{Command: "sh", Args: []string{"-c", script}}
}

func TestExitBySignal(t *testing.T) {
	exit := startChild(t, shell("kill -TERM $$")).Wait()
	assert.Equal(t, exit.Status, -1)
	assert.Equal(t, exit.Signal, os.Signal(syscall.SIGTERM))
	assert.Equal(t, exit.Error(), "ended by signal: terminated")
}

// Other code that reaps all children, as the first process of a container may, consumes the exit
// status.
func TestReapedByOtherCode(t *testing.T) {
	thief := func(pid int) bool {
		syscall.Wait4(pid, nil, 0, nil)
		return false
	}
	descriptors := processtest.OpenFiles()
	p := startAs(t, shell("echo last words >&2; exit 3"), thief)
	exit := p.Wait()
	assert.Equal(t, processtest.OpenFiles(), descriptors)
	assert.ErrorIs(t, exit, syscall.ECHILD)
	assert.Equal(t, exit.Status, -1)
	assert.Assert(t, cmp.Contains(exit.Error(), `unknown status`))
	assert.Assert(t, cmp.Contains(exit.Error(), `: "last words"`))
}

// A process that left the group is not killed, but delays the end only briefly.
func TestGrandchildEscapes(t *testing.T) {
	p := startChild(t, fixture("escape"))
	escaped := readPid(t, p.Stdout())
	defer syscall.Kill(escaped, syscall.SIGKILL)
	rest, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	assert.Equal(t, len(rest), 0)
	awaitDone(t, p)
	assert.Assert(t, p.Wait().Held)
	assert.Assert(t, processtest.Runs(escaped))
}

// A stopped process (SIGSTOP) does not act on SIGTERM, but is ended by SIGKILL; being stopped is
// not an exit.
func TestStopSuspended(t *testing.T) {
	cfg := shell("echo ready; exec cat")
	cfg.Grace = 20 * time.Millisecond
	p := startChild(t, cfg)
	assert.Equal(t, readLine(t, p.Stdout()), "ready")
	processtest.Suspend(t, p.Pid())
	exit, err := p.Stop(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, exit.Signal, os.Signal(syscall.SIGKILL))
}

// The group is signalled only while the leader, alive or not reaped, holds its id.
func TestGroupIdIsHeld(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs waitid with WNOWAIT")
	}
	p := startAs(t, shell("exit 0"), func(pid int) bool {
		held := awaitExit(pid)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || processtest.Runs(pid) {
			t.Errorf("not a zombie after awaitExit: %s %v", stat, err)
		}
		return held
	})
	p.Wait()
	assert.ErrorIs(t, p.group.Kill(), os.ErrProcessDone)
	assert.ErrorIs(t, syscall.Kill(-p.Pid(), 0), syscall.ESRCH)
}

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
		hint string
	}{
		{
			"not on the PATH", Config{Command: "no-such-command", Dir: dir, Env: env},
			exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in $PATH`,
			"install it, or give the path of the program",
		},
		{
			"empty PATH", Config{Command: "no-such-command", Dir: dir,
				Env: map[string]string{"PATH": ""}}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in $PATH`,
			"the variable PATH is empty: set it, or give the path of the program",
		},
		{
			"not executable", Config{Command: "plain", Dir: dir, Env: env}, fs.ErrPermission,
			`cannot start "plain": DIR/plain is not executable: permission denied (working directory DIR)`, "",
		},
		{
			"path, not executable", Config{Command: "./plain", Dir: dir}, fs.ErrPermission,
			`cannot start "./plain": permission denied (working directory DIR)`, "",
		},
		{
			"no such path", Config{Command: "./missing", Dir: dir}, fs.ErrNotExist,
			`cannot start "./missing": no such file or directory (working directory DIR)`, "",
		},
		{
			"no interpreter", Config{Command: "./lost", Dir: dir}, fs.ErrNotExist,
			`cannot start "./lost": the file exists, the interpreter or loader it names does not: no such file or directory (working directory DIR)`, "",
		},
		{
			"no working directory", Config{Command: "sh", Dir: dir + "/missing", Env: env},
			fs.ErrNotExist,
			`cannot start "sh": the working directory cannot be used: no such file or directory (working directory DIR/missing)`, "",
		},
		{
			"a file for a working directory", Config{Command: "/bin/sh", Dir: dir + "/plain"}, nil,
			`cannot start "/bin/sh": the working directory is not a directory (working directory DIR/plain)`, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.cfg)
			startErr, ok := errors.AsType[*StartError](err)
			assert.Assert(t, ok, "%T %v", err, err)
			assert.Equal(t, strings.ReplaceAll(err.Error(), dir, "DIR"), c.want)
			assert.Assert(t, c.is == nil || errors.Is(err, c.is))
			assert.Equal(t, startErr.Command, c.cfg.Command)
			assert.Equal(t, startErr.Hint, c.hint)
			assert.Assert(t, strings.Contains(startErr.Path, c.cfg.Env["PATH"]))
		})
	}
}
