package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// A signalled is the cause of the end of the program's context.
type signalled struct{ signal os.Signal }

func (s signalled) Error() string { return s.signal.String() }

// withSignals returns a context that ends with the first signal to stop, whose cause is then a [signalled]. The second one ends the process at once, as if
// there were no handler. A write to a pipe that nobody reads fails and does not kill: the server that was started is still to be stopped.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
