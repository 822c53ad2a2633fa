package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A signalled is the cause of the end of the program's context.
type signalled struct{ signal os.Signal }

func (s signalled) Error() string { return s.signal.String() }

// withSignals returns a context that ends with the first signal to stop, whose cause is then a [signalled]. The second one ends the process at once, as if
// there were no handler. A write to a pipe that nobody reads fails and does not kill: the server that was started is still to be stopped.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	h := new(hangups)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hangupsKey{}, h))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && h.divert() {
					continue
				}
				signal.Stop(signals)
				cancel(signalled{signal: s})
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

// hangups is who gets SIGHUP, if it does not end the program.
type hangups struct {
	mu   sync.Mutex
	gone func() bool
	to   chan struct{}
}

type hangupsKey struct{}

// onHangup has SIGHUP told on a channel of capacity 1 from now on, in place of ending the program that has these signals; but when gone reports that the terminal is gone, it means that. Without
// signals nothing is ever told.
func onHangup(ctx context.Context, gone func() bool) <-chan struct{} {
	told := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupsKey{}).(*hangups); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gone, h.to = gone, told
	}
	return told
}

// divert tells of a signal, if somebody wants it.
func (h *hangups) divert() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to == nil || h.gone() {
		return false
	}
	select {
	case h.to <- struct{}{}:
	default:
	}
	return true
}
