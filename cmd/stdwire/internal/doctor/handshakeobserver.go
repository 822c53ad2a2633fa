package doctor

import (
	"errors"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A handshakeObserver records events of a handshake that the client does not report, or cannot
// report if the handshake fails. It is safe for concurrent use.
type handshakeObserver struct {
	mu      sync.Mutex
	outcome probeOutcome // of the probe
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
	return w.outcome
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
				w.outcome = answered
			case errors.Is(e.Err, rpc.ErrClosed):
				w.outcome = ended
			default:
				w.outcome = ignored
			}
		},
	}
}
