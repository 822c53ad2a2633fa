//go:build !unix

package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/stdwire/stdwire/internal/processgroup"
)

// Main does nothing: this system needs no guard processes.
func Main() {}

// supervisor is the group of the command, which Windows ends with this program.
type supervisor struct{ group *processgroup.Group }

func start(_ context.Context, c Command) (*Process, error) {
	cmd := &exec.Cmd{
		Args: append([]string{c.Name}, c.Args...),
		Env:  append([]string{}, c.Env...), // nil would mean this program's own
	}
	if c.Dir != nil {
		info, err := c.Dir.Stat()
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return nil, fmt.Errorf("the working directory cannot be entered: %w",
				processgroup.Cause(err))
		}
		cmd.Dir = c.Dir.Name()
	}
	var err error
	cmd.Path, err = processgroup.LookPath(c.Name, cmd.Dir, os.Environ())
	if err != nil {
		return nil, processgroup.Cause(err)
	}
	group, pipes, err := processgroup.StartPiped(cmd, c.Merged)
	if err != nil {
		return nil, processgroup.Cause(err)
	}
	p := newProcess(pipes)
	p.pid, p.supervisor = cmd.Process.Pid, supervisor{group}
	go p.watch()
	return p, nil
}

// watch waits for the command, and ends its descendants.
func (p *Process) watch() {
	state, err := p.group.Leader.Wait()
	p.group.Close()
	p.exit.Code = -1
	if err == nil {
		p.exit.Code, p.exit.Signal = processgroup.ExitStatus(state)
	}
	close(p.done)
}

// Signal sends a signal to the command and its descendants: SIGKILL as Kill does, SIGTERM as a
// CTRL_BREAK_EVENT, which needs a console that this program shares with the command. The error is
// [os.ErrProcessDone] if the command has ended, [errors.ErrUnsupported] for other signals.
func (p *Process) Signal(sig syscall.Signal) error {
	switch sig {
	case syscall.SIGKILL:
		return p.group.Kill()
	case syscall.SIGTERM:
		return p.group.Terminate()
	}
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	return fmt.Errorf("signal %v: %w", sig, errors.ErrUnsupported)
}

// Kill kills the command and all of its descendants. It does not block; Done is closed when they
// are gone. Kill may be called at any time and more than once.
func (p *Process) Kill() { p.group.Kill() }
