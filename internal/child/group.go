package child

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/processgroup"
)

// A Group is the process of a child and its descendants. All methods may be called concurrently.
type Group = interface {
	// Pid returns the process id of the child.
	Pid() int
	// Terminate asks the group to end, as [processgroup.Group.Terminate] does.
	Terminate() error
	// Kill kills the group and does not wait for its end.
	Kill() error
	// AwaitExit blocks until the process of the child has ended.
	AwaitExit()
	// End kills the rest of the group, reaps the process, and returns how it ended, as
	// [processgroup.ExitStatus] does. It is called once, after AwaitExit.
	End() (status int, signal syscall.Signal, err error)
}

// A containedGroup is the group of a [Config.Start]. A panic or runtime.Goexit in its methods is
// an error, or has no effect where the method returns none. AwaitExit, which blocks as long as the
// process runs, has no goroutine of its own: a runtime.Goexit in it ends the caller's.
type containedGroup struct{ Group }

func (g containedGroup) Pid() (pid int) {
	contain.Run(func() { pid = g.Group.Pid() })
	return pid
}

func (g containedGroup) Terminate() error { return contain.Do(g.Group.Terminate) }
func (g containedGroup) Kill() error      { return contain.Do(g.Group.Kill) }
func (g containedGroup) AwaitExit()       { contain.Call(g.Group.AwaitExit) }

func (g containedGroup) End() (status int, signal syscall.Signal, err error) {
	err = contain.Do(func() (err error) {
		status, signal, err = g.Group.End()
		return err
	})
	return status, signal, err
}

// StartGroup starts a command as a child of this program, as [Config.Start] does.
func StartGroup(_ context.Context, cmd *exec.Cmd) (Group, [3]*os.File, error) {
	return startOwn(cmd, awaitExit)
}

func startOwn(cmd *exec.Cmd, awaitExit func(pid int) bool) (Group, [3]*os.File, error) {
	group, pipes, err := processgroup.StartPiped(cmd, false)
	if err != nil {
		return nil, pipes, err
	}
	return &ownGroup{Group: group, awaitExit: awaitExit, pid: group.Leader.Pid}, pipes, nil
}

// An ownGroup is a group whose leader is a child process of this program.
type ownGroup struct {
	*processgroup.Group
	awaitExit func(pid int) bool
	pid       int

	reaped bool // by AwaitExit, as this system cannot wait otherwise; state and err are set
	state  *os.ProcessState
	err    error
}

func (g *ownGroup) Pid() int { return g.pid }

func (g *ownGroup) AwaitExit() {
	if g.awaitExit(g.Pid()) {
		return
	}
	g.wait()
	g.reaped = true
	g.Close()
}

// wait reaps the process. If other code has, the handle of the process is still open.
func (g *ownGroup) wait() {
	if g.state, g.err = g.Leader.Wait(); g.err != nil {
		_ = g.Leader.Release() // which returns no error
	}
}

func (g *ownGroup) End() (status int, signal syscall.Signal, err error) {
	if !g.reaped {
		g.Close()
		g.wait() // does not block: the process is dead
	}
	if g.err != nil {
		return -1, 0, g.err
	}
	status, signal = processgroup.ExitStatus(g.state)
	return status, signal, nil
}
