package doctor

import (
	"errors"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A witness sees what of a handshake the client does not tell, or no longer can when there is no client. It is safe for concurrent use.
type witness struct {
	mu     sync.Mutex
	fate   fate
	lines  int // that are no message
	sample string
}

// A fate is what becomes of the probe that a handshake begins with.
type fate int

const (
	answered fate = iota // or never sent
	ended                // so did the server
	ignored
)

func (w *witness) probe() fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fate
}

// noise is how many lines were no message, and how the first of them begins.
func (w *witness) noise() (lines int, sample string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines, w.sample
}

func (w *witness) hooks() rpc.Hooks {
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
				w.sample = printable.TruncateRunes(printable.Line(string(frame[:min(len(frame), 800)])), 200)
			}
		},
	}
}
