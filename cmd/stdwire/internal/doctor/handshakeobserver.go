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

func (o *handshakeObserver) probe() probeOutcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.outcome
}

func (o *handshakeObserver) hooks() rpc.Hooks {
	return rpc.Hooks{
		Call: func(e rpc.CallEvent) {
			if e.Method != mcp.MethodDiscover || !e.End || e.Err == nil {
				return
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			_, refused := errors.AsType[*rpc.Error](e.Err)
			switch {
			case refused:
				o.outcome = answered
			case errors.Is(e.Err, rpc.ErrClosed):
				o.outcome = ended
			default:
				o.outcome = ignored
			}
		},
	}
}
