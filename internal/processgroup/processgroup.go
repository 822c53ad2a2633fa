// Package processgroup starts a process, and ends it together with everything that came of it.
//
// On Unix the process leads a process group of its own. What leaves that group (setsid, a daemon)
// is out of reach.
//
// On Windows the process and its descendants are in a job object of their own, which none of them
// can leave. The job ends with its handle, which only this program has: whatever this program dies
// of, they end too. Out of reach is what somebody else starts on their behalf, as a service does.
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
)

// Group is a process that runs, and what came of it. All methods may be called concurrently.
type Group struct {
	Leader *os.Process // to be waited for by the caller, and then to be ended by Close

	mu      sync.Mutex
	members members
	killed  bool
	closed  bool
}

// Start starts a command as the leader of a group. It sets SysProcAttr of cmd, whose Path is to be
// what [LookPath] returned. It blocks until the system has loaded the program.
//
// Windows runs a batch file (.bat, .cmd) by cmd.exe, for which arguments are not words but text
// with operators and variables in it. Start quotes them so that they arrive as they are, and fails
// if that cannot be: see the text of the error.
func Start(cmd *exec.Cmd) (*Group, error) {
	members, err := start(cmd)
	if err != nil {
		return nil, err
	}
	return &Group{Leader: cmd.Process, members: members}, nil
}

// Cause returns what an [os.PathError] or an [exec.Error] in err wraps, and err itself if there is
// neither: the error of Start or of LookPath for a message that names the command already.
func Cause(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	if execErr, ok := errors.AsType[*exec.Error](err); ok {
		return execErr.Err
	}
	return err
}

// Terminate asks the group to end: by SIGTERM on Unix, by CTRL_BREAK_EVENT on Windows, which takes
// a console that both have. The error is [os.ErrProcessDone] after Kill or Close.
func (g *Group) Terminate() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.killed {
		return os.ErrProcessDone
	}
	return g.members.terminate()
}

// Kill kills the group. It does not wait for that. The error is [os.ErrProcessDone] after Close.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return os.ErrProcessDone
	}
	g.killed = true
	return g.members.kill()
}

// Close kills what is left of the group. Nothing is sent to it any more, as its id can be somebody
// else's from now on. On Windows, Close blocks until none of the group is left. It is to be called
// once.
func (g *Group) Close() {
	g.mu.Lock()
	g.members.kill()
	g.killed, g.closed = true, true
	g.mu.Unlock()
	g.members.close()
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
