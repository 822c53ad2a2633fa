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

// Main does nothing: this system needs no guards.
func Main() {}

// guardian is what stands in for a guard: the group of the command, which Windows itself ends with
// this program.
type guardian struct{ group *processgroup.Group }

// Start starts a command, and blocks until the system has loaded it. ctx bounds the start, not the
// life of the command. The directory is entered by the path that it was opened by.
//
// The error is a *StartError, or that of ctx.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := start(c)
	if err != nil {
		return nil, &StartError{Name: c.Name, Err: err}
	}
	return p, nil
}

func start(c Command) (*Process, error) {
	if c.Name == "" {
		return nil, errors.New("no name of a command")
	}
	cmd := &exec.Cmd{
		Args: append([]string{c.Name}, c.Args...),
		Env:  append([]string{}, c.Env...), // nil would be this program's own
	}
	if c.Dir != nil {
		info, err := c.Dir.Stat()
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return nil, fmt.Errorf("the working directory cannot be entered: %w", bare(err))
		}
		cmd.Dir = c.Dir.Name()
	}
	var err error
	cmd.Path, err = processgroup.LookPath(c.Name, cmd.Dir, os.Environ())
	if err != nil {
		return nil, bare(err)
	}
	var pipes [2 * 3]*os.File // the read end of each, then its write end
	open := processgroup.InputPipe
	for i := 0; i < len(pipes); i += 2 {
		if pipes[i], pipes[i+1], err = open(); err != nil {
			closeAll(pipes[:i]...)
			return nil, err
		}
		open = processgroup.OutputPipe
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if c.Merged {
		cmd.Stderr = pipes[3]
	}
	group, err := processgroup.Start(cmd)
	closeAll(pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(pipes[1], pipes[2], pipes[4])
		return nil, bare(err)
	}
	p := &Process{
		pid: cmd.Process.Pid, stdin: pipes[1], stdout: pipes[2], stderr: pipes[4],
		guardian: guardian{group}, done: make(chan struct{}),
	}
	go p.watch()
	return p, nil
}

// watch waits for the command, ends what it has left behind, and waits for that.
func (p *Process) watch() {
	state, err := p.group.Leader.Wait()
	p.group.Close()
	p.exit.Code = -1
	if err == nil {
		if p.exit.Signal = processgroup.Signal(state); p.exit.Signal == 0 {
			p.exit.Code = state.ExitCode()
		}
	}
	close(p.done)
}

// Signal passes a signal on to the command and its descendants. SIGKILL is what Kill does, SIGTERM
// a CTRL_BREAK_EVENT, which takes a console that both this program and the command have. The error
// is [os.ErrProcessDone] if the command has ended, [errors.ErrUnsupported] for other signals.
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

// Kill kills the command and all of its descendants. It does not block; Done tells when they are
// gone. It may be called at any time, and more than once.
func (p *Process) Kill() { p.group.Kill() }
