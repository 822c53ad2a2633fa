//go:build unix

package guard

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/processgroup"
)

// startServer starts a server below a guard. The error matches [errors.ErrUnsupported] if no guard
// can be started. The guard runs in the directory of the command, which inherits it.
func startServer(ctx context.Context, cmd *exec.Cmd) (child.Group, [3]*os.File, error) {
	p, err := request{lingers: true, path: cmd.Path, args: cmd.Args, env: cmd.Env}.start(ctx,
		&exec.Cmd{Dir: cmd.Dir}, nil, false)
	if none, ok := errors.AsType[*noGuardError](err); ok && ctx.Err() == nil {
		return nil, [3]*os.File{}, errors.Join(errors.ErrUnsupported, none)
	}
	if err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno // package child explains it
		}
		return nil, [3]*os.File{}, processgroup.Cause(err)
	}
	return guarded{p}, [3]*os.File{p.stdin, p.stdout, p.stderr}, nil
}

// guarded is a server and its guard.
type guarded struct{ *Process }

func (g guarded) Terminate() error { return g.Signal(syscall.SIGTERM) }

func (g guarded) AwaitExit() { <-g.ended }

// Kill sends SIGKILL first: without it, the guard would give the server time, as if this program
// had died.
func (g guarded) Kill() error {
	_ = g.Signal(syscall.SIGKILL)
	g.Process.Kill()
	return nil
}

func (g guarded) End() (status int, signal syscall.Signal, err error) {
	g.Process.Kill() // the guard has reported the end of the server, and kills what is left
	exit := g.Exit()
	return exit.Code, exit.Signal, nil
}
