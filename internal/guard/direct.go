//go:build !unix

package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Main does nothing: this system has no guards.
func Main() {}

// Start starts a command, and blocks until the system has loaded it. ctx bounds the start, not the life of the command. The directory is entered by the path
// that it was opened by.
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
	cmd := exec.Command(c.Name, c.Args...)
	cmd.Env = append([]string{}, c.Env...) // nil would be this program's own
	if c.Dir != nil {
		cmd.Dir = c.Dir.Name()
	}
	var pipes [2 * 3]*os.File // the read end of each, then its write end
	closeAll := func(of ...int) {
		for _, i := range of {
			pipes[i].Close()
		}
	}
	for i := 0; i < len(pipes); i += 2 {
		var err error
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			for _, f := range pipes[:i] {
				f.Close()
			}
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	if c.Merged {
		cmd.Stderr = pipes[3]
	}
	err := cmd.Start()
	closeAll(0, 3, 5)
	if err != nil {
		closeAll(1, 2, 4)
		return nil, err
	}
	p := &Process{pid: cmd.Process.Pid, stdin: pipes[1], stdout: pipes[2], stderr: pipes[4], parent: cmd.Process, done: make(chan struct{})}
	go func() {
		p.exit.Code = -1
		if state, err := p.parent.Wait(); err == nil {
			p.exit.Code = state.ExitCode()
		}
		close(p.done)
	}()
	return p, nil
}

// Signal can only kill here, and only the command itself. The error is [os.ErrProcessDone] if it has ended, [errors.ErrUnsupported] for other signals.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	if sig != syscall.SIGKILL {
		return fmt.Errorf("signal %v: %w", sig, errors.ErrUnsupported)
	}
	return p.parent.Kill()
}

// Kill kills the command itself. It does not block, and may be called at any time, and more than once.
func (p *Process) Kill() { p.parent.Kill() }
