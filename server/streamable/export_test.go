package streamable

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// DialBy lets a handler connect to others by dial.
func DialBy(f *Forward,
	dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	f.dial = dial
}

// Frame returns the header with which one handler passes a request without a body on to another
// one.
func Frame(from, to *Handler, session, method, path, principal string) string {
	own := to.replicas.Own()
	sealed, err := from.forwarder.Sealer.Seal(own.Name, &forwarding.Frame{
		From: from.replicas.Own().Name, Sequence: from.forwarder.Sequence.Add(1),
		Made: from.replicas.Now(), Fence: own.Fence, Method: method, Path: path, Session: session,
		Principal: principal,
		Header: http.Header{"Mcp-Session-Id": {session}, "Accept": {"text/event-stream"},
			"Content-Type": {"application/json"}}})
	if err != nil {
		panic(err)
	}
	return sealed
}

// LoseLease has a store forget the lease by which a handler owns sessions, as one that fails over
// may.
func LoseLease(ctx context.Context, h *Handler, s store.Store) error {
	own := h.replicas.Own()
	_, err := s.Release(ctx, "replica/"+own.Name, own.Fence, 0)
	return err
}

// StoreOf returns a store that keeps what it has in s.
func StoreOf(s store.Store) *Store {
	return &Store{store: s, health: new(shared.Health), secret: make([]byte, 32),
		leases: new(leases), close: func() {}}
}

// SetLease sets for how long others wait for a server that nobody hears of.
func (s *Store) SetLease(d time.Duration) { s.lease = d }
