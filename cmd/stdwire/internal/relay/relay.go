// Package relay runs a command in place of this program, with its streams, signals and exit code.
// stdwire tap and stdwire bridge use it to record or convert traffic.
package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A Relay runs a command in place of this program: with its environment, stdin, stdout, stderr and
// the signals that it receives. After the end of stdin, and after SIGTERM, it has to end in the
// time that [guard.Servers] gives it. Package guard documents what happens to the command when this
// program is killed.
type Relay struct {
	Words []string
	Env   []string // nil: that of this program

	// Up copies stdin to the command, and Down copies its output to stdout, until the end or an
	// error of either side. Then both sides are closed, so that each peer sees the end of the
	// other. The end of what it reads is no error.
	Up, Down func(to io.Writer, from io.Reader) error
}

// Run runs the command, and returns its exit status when it has ended and its output is copied.
// After a signal it does not wait for the output.
func (r *Relay) Run(ctx context.Context, std *term.Streams) (command.ExitStatus, error) {
	env := r.Env
	if env == nil {
		env = os.Environ()
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwardedSignals...)
	defer signal.Stop(signals)
	p, err := guard.Start(ctx,
		guard.Command{Name: r.Words[0], Args: r.Words[1:], Env: env})
	if e, ok := errors.AsType[*guard.StartError](err); ok {
		return 0, &command.Failure{Code: "spawn_failed", Server: filepath.Base(r.Words[0]),
			What: "start", Why: e.Error()}
	}
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	defer std.Servers.Forward(p)()
	go func() {
		// stdin may stay open longer than the command runs
		if r.Up(p.Stdin(), os.Stdin) == nil {
			std.Servers.InputEnded()
		}
		_, _ = p.Stdin().Close(), os.Stdin.Close()
	}()
	var out sync.WaitGroup
	out.Go(func() {
		_ = r.Down(os.Stdout, p.Stdout())
		_, _ = p.Stdout().Close(), os.Stdout.Close()
	})
	out.Go(func() {
		_, _ = io.Copy(std.Err, p.Stderr())
		_ = p.Stderr().Close()
	})
	finished := make(chan struct{})
	go func() {
		<-p.Done()
		out.Wait()
		close(finished)
	}()
	for {
		select {
		case <-finished:
			return exitStatus(p.Exit()), nil
		case s := <-signals:
			switch err := p.Signal(s.(syscall.Signal)); {
			case errors.Is(err, os.ErrProcessDone):
				return exitStatus(p.Exit()), nil
			case errors.Is(err, errors.ErrUnsupported):
				p.Kill()
			}
		}
	}
}

// exitStatus returns the exit status as a shell reports it.
func exitStatus(e guard.Exit) command.ExitStatus {
	const signalled = 128
	switch {
	case e.Lost:
		return command.ExitStatus(signalled + int(syscall.SIGKILL))
	case e.Signal != 0:
		return command.ExitStatus(signalled + int(e.Signal))
	}
	return command.ExitStatus(e.Code)
}
