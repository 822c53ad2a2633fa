package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A SignalError is the cause of a context that a signal has ended.
type SignalError struct{ Signal os.Signal }

func (s SignalError) Error() string { return s.Signal.String() }

// WithSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a [SignalError]
// as its cause. The second signal ends the process. SIGPIPE does not, because servers are still to
// be stopped; the write fails instead.
func WithSignals(parent context.Context) (context.Context, context.CancelFunc) {
	h := new(HangupHandler)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hangupHandlerKey{}, h))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && h.Handle() {
					continue
				}
				signal.Stop(signals)
				cancel(SignalError{Signal: s})
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

// A HangupHandler receives SIGHUP in place of ending the program.
type HangupHandler struct {
	mu             sync.Mutex
	TerminalClosed func() bool
	Notify         chan struct{}
}

type hangupHandlerKey struct{}

// OnHangup sends each later SIGHUP to the returned channel, of capacity 1, in place of ending the
// context of [WithSignals], which ctx must descend from; otherwise nothing is sent. If closed
// reports that the terminal has closed, SIGHUP ends the context as before.
func OnHangup(ctx context.Context, gone func() bool) <-chan struct{} {
	told := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupHandlerKey{}).(*HangupHandler); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.TerminalClosed, h.Notify = gone, told
	}
	return told
}

// Handle forwards a SIGHUP. It returns false if the signal is to end the program.
func (h *HangupHandler) Handle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Notify == nil || h.TerminalClosed() {
		return false
	}
	select {
	case h.Notify <- struct{}{}:
	default:
	}
	return true
}
