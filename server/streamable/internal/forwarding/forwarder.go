package forwarding

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
)

// A Forwarder passes requests on to the replicas that own their sessions, and accepts such
// requests. It is safe for concurrent use.
type Forwarder struct {
	Client   *Client
	Sealer   Sealer
	Seen     Seen
	Routes   Routes
	Sequence atomic.Uint64   // of the last frame
	PassedOn atomic.Int64    // requests
	Ended    context.Context // ends the requests that are passed on
	end      context.CancelFunc
}

// NewForwarder returns a forwarder that remembers the owners of at most routes sessions. secret is
// that of the replicas; see NewClient for the rest.
func NewForwarder(secret []byte, routes int, secure *tls.Config,
	dial func(ctx context.Context, network, address string) (net.Conn, error)) (*Forwarder, error) {
	sealer, err := NewSealer(secret)
	if err != nil {
		return nil, err
	}
	f := &Forwarder{Client: NewClient(secure, dial), Sealer: sealer, Routes: Routes{Max: routes}}
	f.Ended, f.end = context.WithCancel(context.Background())
	return f, nil
}

// Cancel ends what is passed on. f may be nil.
func (f *Forwarder) Cancel() {
	if f != nil {
		f.end()
	}
}
