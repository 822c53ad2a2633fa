package streamable

import (
	"cmp"
	"context"
	"net/http"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// postStateless answers a message of a legacy client with Options.Stateless. The revision is that
// of the header, or the one that the specification assumes without it (2025-11-25,
// basic/transports, Protocol Version Header).
func (x *httpRequest) postStateless(b *buffer.Buffer, m *rpc.Message,
	accepts acceptedTypes) *refusal {
	if m.IsResponse() {
		return newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
			"this server has no sessions and sends no requests, so there is nothing to respond to")
	}
	t, refused := x.acquireRequestSlot(m.ID.IsZero())
	if refused != nil {
		return refused.forID(m.ID)
	}
	defer t.release()
	revision := cmp.Or(mcp.Revision(x.header(mcp.HeaderProtocolVersion)), mcp.Rev20250326)
	conn := x.Handler.server.Integration().StatelessLegacy(x.principal, revision)
	if m.ID.IsZero() {
		switch m.Method {
		case mcp.NotificationInitialized, mcp.NotificationRootsListChanged,
			mcp.NotificationCancelled: // these are about a session
		default:
			_, _ = x.answer(x.r.Context(), nil,
				func(ctx context.Context, req *rpc.Request) (any, error) {
					return conn.Handle(ctx, req, noLink{})
				}, m.Request())
		}
		return x.writeAccepted()
	}
	out := buffer.Get(0)
	defer out.Free()
	x.reply(conn, b, out, m, nil, accepts)
	return nil
}
