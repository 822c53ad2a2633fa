package doctor

import (
	"errors"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A handshakeObserver records events of a handshake that the client does not report, or cannot
// report if the handshake fails. It is safe for concurrent use.
type handshakeObserver struct {
	mu     sync.Mutex
	fate   probeOutcome
	lines  int // lines that are not messages
	sample string
}

// A probeOutcome is the outcome of server/discover, the first request of a handshake.
type probeOutcome int

const (
	answered probeOutcome = iota // or not sent
	ended                        // the server exited
	ignored
)

func (w *handshakeObserver) probe() probeOutcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fate
}

// noise returns the number of lines that are not messages and the beginning of the first.
func (w *handshakeObserver) noise() (lines int, sample string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines, w.sample
}

func (w *handshakeObserver) hooks() rpc.Hooks {
	return rpc.Hooks{
		Call: func(e rpc.CallEvent) {
			if e.Method != mcp.MethodDiscover || !e.End || e.Err == nil {
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			_, refused := errors.AsType[*rpc.Error](e.Err)
			switch {
			case refused:
				w.fate = answered
			case errors.Is(e.Err, rpc.ErrClosed):
				w.fate = ended
			default:
				w.fate = ignored
			}
		},
		Stray: func(frame []byte, _ string) {
			if jsonscan.Valid(frame) == nil && jsonscan.Member(frame, "jsonrpc") != nil {
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.lines++; w.lines == 1 {
				w.sample = printable.TruncateRunes(
					printable.Line(string(frame[:min(len(frame), 800)])), 200)
			}
		},
	}
}
