package streamable

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// CloseStream closes the connection on which the client waits for the response to a request, and
// tells the client to reconnect after retry. The request continues. It is for handlers that take
// long, so that they do not hold a connection (2025-11-25, basic/transports, Sending Messages to
// the Server). Messages are stored until the client is back. ctx is the handler's context. It
// reports false and does nothing if the client cannot resume: its revision is older or modern, it
// accepts no event streams, it has disconnected, or the request did not come through a [Handler].
// It does not block.
func CloseStream(ctx context.Context, retry time.Duration) bool {
	st, ok := ctx.Value(streamKey{}).(*stream)
	if !ok || st == nil {
		return false
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.s.closed || st.complete || st.reader == nil || !st.acceptsEvents || st.s.httpSSE ||
		st.s.conn.Revision() < mcp.Rev20251125 {
		return false
	}
	st.reader.closeRequested, st.reader.retry = true, retry
	st.notifyChange()
	return true
}
