package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Transport carries messages to and from one server, for one client. [Stream] creates one from a
// byte stream; package client/streamable has one for HTTP.
type Transport interface {
	// Open is called once, before the other methods. The link may be used until Close has returned.
	Open(link *Link) error
	// ReadFrame blocks until the next message and returns it in memory that the transport does not
	// reuse: dst[:0] if it is large enough. A [*framing.FrameError] affects one message; any other
	// error ends the connection: [io.EOF] if the server has closed it.
	ReadFrame(dst []byte) ([]byte, error)
	// Write sends one or more messages, each followed by a newline and without one inside. One
	// goroutine calls it at a time. It must not retain frames. While it blocks, other calls wait;
	// it must return when Close is called.
	Write(frames []byte) (int, error)
	// Close ends the connection and unblocks the other methods.
	Close() error
}

// Stream returns a transport for a stream to a server, with a newline after each message
// (2025-11-25, Transports, "stdio"). Closing the stream must unblock its Read and Write. For a
// server in the same process, it is one end of a [net.Pipe], whose other end the Serve of the
// server gets; [rpc.Stream] joins a reader and a writer.
func Stream(stream io.ReadWriteCloser) Transport { return &byteStream{ReadWriteCloser: stream} }

// A byteStream is a Transport over a stream.
type byteStream struct {
	io.ReadWriteCloser
	link  *Link
	codec framing.Codec
}

func (s *byteStream) Open(link *Link) error {
	s.link = link
	s.codec = framing.Newline(s, link.Limits)
	return nil
}

func (s *byteStream) Read(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(b)
	if n > 0 {
		s.link.Received()
	}
	return n, err
}

func (s *byteStream) ReadFrame(dst []byte) ([]byte, error) { return s.codec.ReadFrame(dst) }

// GrowWith lets the peer provide the memory of large messages.
func (s *byteStream) GrowWith(grow func(dst []byte, n int) []byte) {
	s.codec.(growing).GrowWith(grow)
}

// growing is what the codecs of package framing have, and transports that use one.
type growing interface {
	GrowWith(grow func(dst []byte, n int) []byte)
}

// A Link connects a [Transport] to its client. Its methods are safe for concurrent use; its fields
// may be set in Open.
type Link struct {
	Limits framing.Limits // of received messages; not to be set
	// MirrorsHeaders says that the transport sends arguments of tools as headers. Tools with
	// invalid header annotations are then removed from lists.
	MirrorsHeaders bool
	// OnAbandon, if set, is called for each request that is dropped without
	// notifications/cancelled: those of the handshake, and a subscription that the server has
	// ended. It must not block.
	OnAbandon func(id rpc.ID)

	c *Client
}

// Received records that the server has sent something. A [TimeoutError] contains the time since
// then.
func (l *Link) Received() { l.c.activity.record() }

// Fail ends the call with an id with an error. It does nothing if the call is not in flight.
func (l *Link) Fail(id rpc.ID, err error) { l.c.peer.Fail(id, err) }

// Missed reports that notifications or requests of the server may have been lost. The client then
// assumes that every watched list and resource has changed.
func (l *Link) Missed() { l.c.assumeChanged() }

// Renewer returns a function that replaces the current session, for a transport that learns without
// a call in flight that the session no longer exists. The function blocks until there is a new
// session or ctx ends; it does nothing if the session was replaced already. Renewer may be called
// from the first notification on.
func (l *Link) Renewer() func(ctx context.Context) error {
	present := l.c.session.Load()
	return func(ctx context.Context) error { return l.c.renewSession(ctx, present, false) }
}

// ToolHeaders returns the headers of a call of a tool, by name, for the params of the call, if the
// tool was listed; nil if it has none. The values are not yet encoded. It fails if a header cannot
// carry an argument: the call must not be sent then.
func (l *Link) ToolHeaders(tool string, params json.RawMessage) (map[string]string, error) {
	var headers map[string]string
	for _, p := range l.c.headerTools.Tool(tool).Params {
		value, ok, err := p.Value(jsonscan.Member(params, "arguments"))
		if err != nil {
			return nil, fmt.Errorf("not sent: %w, but the tool requires it in the header %s", err,
				p.Header)
		}
		if ok {
			if headers == nil {
				headers = make(map[string]string)
			}
			headers[p.Header] = value
		}
	}
	return headers, nil
}

// Warn writes a warning to the client's log.
func (l *Link) Warn(what string, attrs ...slog.Attr) { l.c.warn(what, attrs...) }

// A codec frames sent messages by newline, with their own limit, and reads those of the transport.
type codec struct {
	framing.Codec // appends
	transport     Transport
	repaired      []byte // the next frame to be read; nil for that of the transport
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

func (k *codec) GrowWith(grow func(dst []byte, n int) []byte) {
	if t, ok := k.transport.(growing); ok {
		t.GrowWith(grow)
	}
}

// FinishFrame implements [framing.Finisher].
func (k *codec) FinishFrame(payload []byte) ([]byte, error) {
	return k.Codec.(framing.Finisher).FinishFrame(payload)
}

// frames adapts a Transport to the peer. The peer reads through the codec instead.
type frames struct{ Transport }

func (frames) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// attach starts the peer on the transport. Requests go to serve, notifications to
// handleNotification and cancellation, responses to their calls, and everything else to stray.
func (l *Link) attach(t Transport) {
	c := l.c
	k := &codec{Codec: framing.Newline(nil, framing.Limits{MaxFrame: c.o.MaxSend}),
		transport: t}
	hooks := c.o.Hooks
	hooks.Stray = func(frame []byte, reason string) {
		if repaired := c.stray(frame, reason); repaired != nil {
			k.repaired = repaired
		}
	}
	hooks.OtherID = c.countOtherID
	if hooks.Panic == nil {
		hooks.Panic = func(method string, value any, stack []byte) {
			c.warn("a handler panicked", slog.String("method", method), slog.Any("panic", value),
				slog.String("stack", string(stack)))
		}
	}
	c.peer = rpc.Options{
		Handler:         rpc.Chain(c.serve, c.o.Middleware...),
		Framing:         func(io.Reader, framing.Limits) framing.Codec { return k },
		Limits:          c.o.Limits,
		Cancellation:    l.cancellation(),
		Preempt:         c.handleNotification,
		NullIDNotifies:  true,
		IgnoreMalformed: true, // libraries print to stdout
		Drain:           -1,   // a server that has ended reads no answer
		Hooks:           hooks,
		Context:         &incomingContext{context.Background(), c},
	}.New(frames{t})
}

// cancellation is MCP's cancellation with fixed reasons, so that no text of the application is
// sent. Requests of the handshake are not cancelled: MCP forbids it for initialize, and a legacy
// server does not know the probe. Nothing is sent before the connection is closed either.
func (l *Link) cancellation() *rpc.Cancellation {
	d := mcp.Cancellation()
	params, target := d.Params, d.Target
	d.Params = func(method string, id rpc.ID, cause error) any {
		switch {
		case method == mcp.MethodInitialize || method == mcp.MethodDiscover || cause == errClosed ||
			cause == subscription.ErrEnded:
			if l.OnAbandon != nil {
				l.OnAbandon(id)
			}
			return nil
		case cause != errExpired:
			cause = errUnwanted
		}
		return params(method, id, cause)
	}
	// A modern server sends no requests: it cancels the subscription.
	d.Target = func(params json.RawMessage) (rpc.ID, string, bool) {
		id, reason, ok := target(params)
		return id, reason, ok && !l.c.listening.End(id)
	}
	return d
}
