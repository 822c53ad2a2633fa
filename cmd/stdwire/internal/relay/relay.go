// Package relay runs a command in place of this program, with its streams, signals and exit code.
// stdwire tap and stdwire bridge look at or convert what passes.
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

// A Relay runs a command in place of this program: with its environment, between its stdin and
// stdout, with its stderr, and with the signals that it receives. Package guard documents what is
// left of the command when this program is killed.
type Relay struct {
	Words []string

	// Up copies what is written to the command, down what the command writes, to the end or to an
	// error of either side. Then both of its sides are closed, so that who wrote or read there
	// notices as if the other were there itself.
	Up, Down func(to io.Writer, from io.Reader) error
}

// Run returns the exit status of the command when it has ended and its output has been copied.
// After a signal it does not wait for the output.
func (r *Relay) Run(ctx context.Context, std *term.Streams) (command.ExitStatus, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwardedSignals...)
	defer signal.Stop(signals)
	p, err := guard.Start(ctx,
		guard.Command{Name: r.Words[0], Args: r.Words[1:], Env: os.Environ()})
	if e, ok := errors.AsType[*guard.StartError](err); ok {
		return 0, &command.Failure{Code: "spawn_failed", Server: filepath.Base(r.Words[0]),
			What: "start", Why: e.Error()}
	}
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	go func() {
		// for as long as somebody holds stdin open, which can be longer than the command lives
		_ = r.Up(p.Stdin(), os.Stdin)
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
