package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A Relay runs a command in this program's place: with its environment, between its stdin and
// stdout, with its stderr, with the signals that it gets. What is left of the command when this
// program dies, of SIGKILL too, is said in the package comment of internal/guard.
type Relay struct {
	Words []string

	// Up copies what is written to the command, down what the command writes, to the end or to an error of either side. Then both of its sides are closed, so that who wrote or read there
	// notices as if the other were there itself.
	Up, Down func(to io.Writer, from io.Reader) error
}

// A ChildStatus is the exit code of a command that ran in this program's place, whatever else there was.
type ChildStatus int

func (s ChildStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// Run returns when the command has ended, and what it wrote has been passed on; or after its end when a signal comes.
func (r *Relay) Run(ctx context.Context, std *term.Streams) (ChildStatus, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	p, err := guard.Start(ctx, guard.Command{Name: r.Words[0], Args: r.Words[1:], Env: os.Environ()})
	if e, ok := errors.AsType[*guard.StartError](err); ok {
		return 0, &command.Failure{Code: "spawn_failed", Server: filepath.Base(r.Words[0]), What: "start", Why: e.Error()}
	}
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	go func() { // for as long as somebody holds stdin open, which can be longer than the command lives
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
			return statusOf(p.Exit()), nil
		case s := <-signals:
			switch err := p.Signal(s.(syscall.Signal)); {
			case errors.Is(err, os.ErrProcessDone):
				return statusOf(p.Exit()), nil
			case errors.Is(err, errors.ErrUnsupported):
				p.Kill()
			}
		}
	}
}

// statusOf is an exit status as a shell has it.
func statusOf(e guard.Exit) ChildStatus {
	const signalled = 128
	switch {
	case e.Lost:
		return ChildStatus(signalled + int(syscall.SIGKILL))
	case e.Signal != 0:
		return ChildStatus(signalled + int(e.Signal))
	}
	return ChildStatus(e.Code)
}
