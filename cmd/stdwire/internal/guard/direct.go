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
			return nil, fmt.Errorf("the working directory cannot be entered: %w", processgroup.Cause(err))
		}
		cmd.Dir = c.Dir.Name()
	}
	var err error
	cmd.Path, err = processgroup.LookPath(c.Name, cmd.Dir, os.Environ())
	if err != nil {
		return nil, processgroup.Cause(err)
	}
	var theirs, ours [3]*os.File // stdin, stdout and stderr
	for i, open := range []func() (theirs, ours *os.File, err error){
		processgroup.InputPipe, processgroup.OutputPipe, processgroup.OutputPipe,
	} {
		if theirs[i], ours[i], err = open(); err != nil {
			closeAll(theirs[:i]...)
			closeAll(ours[:i]...)
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if c.Merged {
		cmd.Stderr = theirs[1]
	}
	group, err := processgroup.Start(cmd)
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(ours[:]...)
		return nil, processgroup.Cause(err)
	}
	p := &Process{
		pid: cmd.Process.Pid, stdin: ours[0], stdout: ours[1], stderr: ours[2],
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
