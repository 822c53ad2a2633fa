package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A Signalled is the cause of the end of the program's context.
type Signalled struct{ Signal os.Signal }

func (s Signalled) Error() string { return s.Signal.String() }

// WithSignals returns a context that ends with the first signal to stop, whose cause is then a [signalled]. The second one ends the process at once, as if
// there were no handler. A write to a pipe that nobody reads fails and does not kill: the server that was started is still to be stopped.
func WithSignals(parent context.Context) (context.Context, context.CancelFunc) {
	h := new(Hangups)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hangupsKey{}, h))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && h.Divert() {
					continue
				}
				signal.Stop(signals)
				cancel(Signalled{Signal: s})
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// Hangups is who gets SIGHUP, if it does not end the program.
type Hangups struct {
	mu   sync.Mutex
	Gone func() bool
	To   chan struct{}
}

type hangupsKey struct{}

// OnHangup has SIGHUP told on a channel of capacity 1 from now on, in place of ending the program that has these signals; but when gone reports that the terminal is gone, it means that. Without
// signals nothing is ever told.
func OnHangup(ctx context.Context, gone func() bool) <-chan struct{} {
	told := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupsKey{}).(*Hangups); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.Gone, h.To = gone, told
	}
	return told
}

// Divert tells of a signal, if somebody wants it.
func (h *Hangups) Divert() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.To == nil || h.Gone() {
		return false
	}
	select {
	case h.To <- struct{}{}:
	default:
	}
	return true
}
