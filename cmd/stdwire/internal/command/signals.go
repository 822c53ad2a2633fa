package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/stdwire/stdwire/internal/wake"
)

// A SignalError is the cause of a context that a signal has cancelled.
type SignalError struct{ Signal os.Signal }

func (s SignalError) Error() string { return s.Signal.String() }

// WithSignals returns a context that the first SIGINT, SIGTERM or SIGHUP cancels with a
// [SignalError] as its cause. It calls received with this signal and the second one; a third ends
// the process. A signal for which received returns false does not count. SIGPIPE is ignored,
// because servers must still be stopped; the write fails instead.
func WithSignals(parent context.Context, received func(os.Signal) bool) (context.Context,
	context.CancelFunc) {
	h := new(HangupHandler)
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, hangupHandlerKey{}, h))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Several may come at once, of which none may be lost: SIGINT may not count, but SIGTERM does.
	signals := make(chan os.Signal, 16)
	stopped := make(chan struct{})
	stop := sync.OnceFunc(func() { close(stopped) })
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for count := 0; count < 2; {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && h.Handle() {
					continue
				}
				cancel(SignalError{Signal: s})
				if received(s) {
					count++
				}
			case <-stopped:
				return
			}
		}
		signal.Stop(signals)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		stop()
	}
}

// A HangupHandler forwards SIGHUP in place of cancelling the context.
type HangupHandler struct {
	mu             sync.Mutex
	TerminalClosed func() bool
	Notify         chan struct{}
}

type hangupHandlerKey struct{}

// OnHangup sends each later SIGHUP to the returned channel, of capacity 1, in place of cancelling
// the context of [WithSignals]. If closed reports that the terminal has closed, SIGHUP cancels the
// context as before. If ctx does not descend from that context, nothing is sent.
func OnHangup(ctx context.Context, closed func() bool) <-chan struct{} {
	hangups := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupHandlerKey{}).(*HangupHandler); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.TerminalClosed, h.Notify = closed, hangups
	}
	return hangups
}

// Handle forwards a SIGHUP. It returns false if the signal must cancel the context.
func (h *HangupHandler) Handle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Notify == nil || h.TerminalClosed() {
		return false
	}
	wake.Up(h.Notify)
	return true
}
