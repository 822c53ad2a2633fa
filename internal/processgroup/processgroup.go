// Package processgroup starts a process, and ends it together with its descendants.
//
// On Unix the process leads a process group of its own. A descendant that leaves the group
// (setsid, a daemon) cannot be signalled with it.
//
// On Windows the process and its descendants are in a job object of their own, which none of them
// can leave. Only this program holds the job's handle, and the job ends when the handle is closed:
// however this program ends, the processes end with it. Processes that a service starts on their
// behalf are not in the job.
//
// On both, a Ctrl-C at the terminal does not reach the group. On other systems a group is the
// process alone.
package processgroup

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Group is a running process and its descendants. All methods may be called concurrently.
type Group struct {
	// Leader is the process. The caller waits for it, and calls Close afterwards.
	Leader *os.Process

	mu     sync.Mutex
	system systemGroup
	killed bool
	closed bool
}

// Start starts a command as the leader of a group. The Path of cmd must come from [LookPath];
// Start sets SysProcAttr. It blocks until the system has loaded the program.
//
// Windows runs a batch file (.bat, .cmd) by cmd.exe, which reads its arguments as text with
// operators and variables in it. Start quotes them so that the batch file gets them unchanged, and
// fails with an error that names the argument if that is impossible.
func Start(cmd *exec.Cmd) (*Group, error) {
	system, err := start(cmd)
	if err != nil {
		return nil, err
	}
	return &Group{Leader: cmd.Process, system: system}, nil
}

// StartPiped starts a command as [Start] does, with pipes as its stdin, stdout and stderr, and
// returns this program's ends of them; see [openPipes]. If merged is set, stderr is the same pipe
// as stdout, and the third file is at its end.
func StartPiped(cmd *exec.Cmd, merged bool) (group *Group, ours [3]*os.File, err error) {
	theirs, ours, err := openPipes()
	if err != nil {
		return nil, ours, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if merged {
		cmd.Stderr = theirs[1]
	}
	group, err = Start(cmd)
	// The process has its own copies. While ours are open, the pipes do not end.
	CloseAll(theirs[:]...)
	if err != nil {
		CloseAll(ours[:]...)
	}
	return group, ours, err
}

// Terminate asks the group to end: by SIGTERM on Unix, by CTRL_BREAK_EVENT on Windows, which needs
// a console that both share. The error is [os.ErrProcessDone] after Kill or Close.
func (g *Group) Terminate() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.killed {
		return os.ErrProcessDone
	}
	return g.system.terminate()
}

// Kill kills the group and does not wait for its end. The error is [os.ErrProcessDone] after Close.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return os.ErrProcessDone
	}
	g.killed = true
	return g.system.kill()
}

// Close kills the rest of the group. Nothing is sent to the group afterwards, because another
// process may get its id. On Windows, Close blocks until no process of the group is left. It must
// be called once.
func (g *Group) Close() {
	g.mu.Lock()
	g.system.kill()
	g.killed, g.closed = true, true
	g.mu.Unlock()
	g.system.close()
}

// ExitStatus returns the exit code of a process and 0, or -1 and the signal that ended it. On
// Windows the signal is SIGKILL after [Group.Kill] or [Group.Close], and SIGINT if the default
// handler of Windows ended the process on a CTRL_BREAK_EVENT or a Ctrl-C.
func ExitStatus(state *os.ProcessState) (code int, sig syscall.Signal) {
	if sig := exitSignal(state); sig != 0 {
		return -1, sig
	}
	return state.ExitCode(), 0
}

// Cause returns err without the operation and the file or command that [os] and [os/exec] put in
// front of it, for messages that name these themselves.
func Cause(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	if execErr, ok := errors.AsType[*exec.Error](err); ok {
		return execErr.Err
	}
	return err
}

// Getenv returns the value of a variable in env, a list of NAME=value, or "".
func Getenv(env []string, name string) string {
	for _, kv := range env {
		if key, value, _ := strings.Cut(kv, "="); sameName(key, name) {
			return value
		}
	}
	return ""
}
