package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A wire is the stream to the server, and what has to be known of its traffic.
type wire struct {
	io.ReadWriteCloser
	heard chan struct{} // closed at the first byte from the server
	last  atomic.Int64  // when the latest came, in nanoseconds since 1970; 0 for never
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(b)
	if n > 0 && w.last.Swap(time.Now().UnixNano()) == 0 {
		close(w.heard)
	}
	return n, err
}

// silence is the time since the last byte; negative if there was none.
func (w *wire) silence() time.Duration {
	last := w.last.Load()
	if last == 0 {
		return -1
	}
	return time.Since(time.Unix(0, last))
}

// A codec frames by newline, with two differences: what is sent has a limit of its own, and what is too large to be received ends the
// connection, because the call that it was the answer to would wait in vain.
type codec struct {
	framing.Codec               // reads
	out           framing.Codec // appends
	repaired      []byte        // the next frame to be read, see [Client.stray]
}

func (k *codec) ReadFrame(dst []byte) ([]byte, error) {
	if k.repaired != nil {
		dst = append(dst[:0], k.repaired...)
		k.repaired = nil
		return dst, nil
	}
	frame, err := k.Codec.ReadFrame(dst)
	if broken, ok := errors.AsType[*framing.FrameError](err); ok {
		err = fmt.Errorf("the server sent a message of %d bytes, over the limit of %d (Options.Limits.MaxFrame)", broken.Size, broken.Limit)
	}
	return frame, err
}

func (k *codec) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	return k.out.AppendFrame(dst, parts...)
}

// link starts the peer on a stream. Everything that arrives ends up in one of four places: serve (requests), notified, cancellation and stray;
// the rest are answers to our own calls, which the peer matches.
func (c *Client) link(stream io.ReadWriteCloser) {
	c.wire = &wire{ReadWriteCloser: stream, heard: make(chan struct{})}
	c.codec = &codec{out: framing.Newline(nil, framing.Limits{MaxFrame: c.o.MaxSend})}
	hooks := c.o.Hooks
	hooks.Stray = c.stray
	c.peer = rpc.NewPeer(c.wire, rpc.Options{
		Handler: c.serve,
		Framing: func(r io.Reader, l framing.Limits) framing.Codec {
			c.codec.Codec = framing.Newline(r, l)
			return c.codec
		},
		Limits:          c.o.Limits,
		Cancellation:    c.cancellation(),
		Preempt:         c.notified,
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
