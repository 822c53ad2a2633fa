package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Link is what a [Transport] can tell its client, and ask it. Its methods may be called from anywhere at any time, also by several goroutines.
type Link struct {
	c     *Client
	heard chan struct{} // closed at the first byte from the server
	last  atomic.Int64  // when the latest came, in nanoseconds since 1970; 0 for never

	abandoned func(id rpc.ID) // may be nil
}

// ErrSessionLost is the error with which a transport fails a request that the server has not even looked at, because it has forgotten the session
// (2025-11-25, Transports, "Session Management"). The client then begins a new session, and sends the request again.
var ErrSessionLost = errors.New("the server has forgotten the session")

// Limits returns the bounds of what is to be received.
func (l *Link) Limits() framing.Limits { return l.c.o.Limits.Limits }

// Heard notes that the server has sent something. Where calls time out, errors tell for how long it has not.
func (l *Link) Heard() {
	if l.last.Swap(time.Now().UnixNano()) == 0 {
		close(l.heard)
	}
}

// silence is the time since the server last sent something; negative if it never did.
func (l *Link) silence() time.Duration {
	last := l.last.Load()
	if last == 0 {
		return -1
	}
	return time.Since(time.Unix(0, last))
}

// Fail ends the call with that id: no answer will come. If it is not waiting any more, nothing happens.
func (l *Link) Fail(id rpc.ID, err error) { l.c.peer.Fail(id, err) }

// Missed notes that messages of the server that were no answers may have been lost: whatever it tells the changes of may have changed.
func (l *Link) Missed() { l.c.assumeChanged() }

// Renewer returns what begins a new session in place of the present one, for a transport that finds while no call is waiting that the server has forgotten that. It
// blocks until there is one or ctx ends, and does nothing if there is already. It may be asked for from the first notification on.
func (l *Link) Renewer() func(ctx context.Context) error {
	present := l.c.session.Load()
	return func(ctx context.Context) error { return l.c.renewSession(ctx, present) }
}

// OnAbandon says, in Open, what is to be called for a request whose answer nobody waits for any more and of which the server is not told: those of the handshake, and
// a subscription that the server has ended. It must not block.
func (l *Link) OnAbandon(f func(id rpc.ID)) { l.abandoned = f }

// MirrorsHeaders says, in Open, that the transport mirrors arguments into headers: tools of which they cannot be mirrored are then left out.
func (l *Link) MirrorsHeaders() { l.c.headerTools = new(headerTools) }

// HeaderParams returns which arguments of a tool are to be mirrored into headers, as far as the tool was on a list; see MirrorsHeaders.
func (l *Link) HeaderParams(tool string) []mcp.HeaderParam { return l.c.headerTools.params(tool) }

// Warn tells the client's log what nobody else is told.
func (l *Link) Warn(what string, attrs ...slog.Attr) { l.c.warn(what, attrs...) }

// A codec frames by newline what is sent, which has a limit of its own, and reads what the
// transport has.
type codec struct {
	framing.Codec // appends
	transport     Transport
	repaired      []byte // the next frame to be read, see [Client.stray]
}

func (k *codec) ReadFrame(dst []byte) ([]byte, error) {
	if k.repaired != nil {
		dst = append(dst[:0], k.repaired...)
		k.repaired = nil
		return dst, nil
	}
	frame, err := k.transport.ReadFrame(dst)
	return frame, convertReadError(err)
}

// frames is a transport as the peer wants it: the codec reads.
type frames struct{ Transport }

func (frames) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// attach starts the peer on the transport. Everything that arrives ends up in one of four places: serve (requests), notified, cancellation and stray;
// the rest are answers to our own calls, which the peer matches.
func (c *Client) attach(t Transport) {
	c.codec = &codec{Codec: framing.Newline(nil, framing.Limits{MaxFrame: c.o.MaxSend}), transport: t}
	hooks := c.o.Hooks
	hooks.Stray = c.stray
	c.peer = rpc.NewPeer(frames{t}, rpc.Options{
		Handler:         c.serve,
		Framing:         func(io.Reader, framing.Limits) framing.Codec { return c.codec },
		Limits:          c.o.Limits,
		Cancellation:    c.cancellation(),
		Preempt:         c.handleNotification,
		NullIDNotifies:  true,
		IgnoreMalformed: true, // libraries print into stdout
		Hooks:           hooks,
	})
}

// cancellation is MCP's, with our reasons in place of the application's, which are nobody's business. The requests of the handshake are not
// cancelled: initialize must not be, and an old server knows nothing of the probe. A server that we hang up on needs no telling either.
func (c *Client) cancellation() *rpc.Cancellation {
	d := mcp.Cancellation()
	params, target := d.Params, d.Target
	d.Params = func(method string, id rpc.ID, cause error) any {
		switch {
		case method == mcp.MethodInitialize || method == mcp.MethodDiscover || cause == errClosed || cause == errEnded:
			if c.link.abandoned != nil {
				c.link.abandoned(id)
			}
			return nil
		case cause != errExpired:
			cause = errUnwanted
		}
		return params(method, id, cause)
	}
	// A modern server has no requests to cancel; it means the subscription, that it ends.
	d.Target = func(params json.RawMessage) (rpc.ID, string, bool) {
		id, reason, ok := target(params)
		return id, reason, ok && !c.listening.end(id)
	}
	return d
}

var errUnwanted = errors.New("cancelled by the client")
