package streamable

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// CloseStream ends the connection on which the client of a request waits for the answer, and asks it to come back after a while; the request goes on. It is for handlers that
// take long, to not hold connections (2025-11-25, basic/transports, Sending Messages to the Server). What is said until the client is back
// is kept for it. ctx is the handler's. It reports false, and does nothing, where that cannot be: the client is of another revision, takes no streams or is
// away already, or the request did not come by a [Handler]. It does not block.
func CloseStream(ctx context.Context, retry time.Duration) bool {
	st, ok := ctx.Value(streamKey{}).(*stream)
	if !ok || st == nil {
		return false
	}
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	if st.s.closed || st.complete || st.reader == nil || !st.acceptsEvents || st.s.httpSSE || st.s.conn.Revision() < mcp.Rev20251125 {
		return false
	}
	st.reader.closeRequested, st.reader.retry = true, retry
	st.notifyChange()
	return true
}
