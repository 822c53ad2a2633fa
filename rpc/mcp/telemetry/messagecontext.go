package telemetry

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A connection is that of a message. Servers and clients of this module put it in the context.
type connection interface {
	// Revision returns the negotiated revision. It is "" before the handshake, and for a server
	// with a client of the modern era, which names the revision in each request.
	Revision() mcp.Revision
	// Context returns a context that ends with the connection. It never ends for the requests of
	// modern clients over HTTP, which have no connection.
	Context() context.Context
}

// connectionFrom returns the connection of a message, or nil for another context.
func connectionFrom(ctx context.Context) connection {
	c, _ := ctx.Value(contextkey.Connection{}).(connection)
	return c
}

// callerFrom returns the principal and the session of a message that a server has received. Both
// may be "".
func callerFrom(ctx context.Context) (principal, session string) {
	principal, _ = ctx.Value(contextkey.Principal{}).(string)
	session, _ = ctx.Value(contextkey.Session{}).(string)
	return clip(principal), session
}

// requestParams are the members of the params of a request, which the server finds once, for itself
// and for middleware. Like the request, they must not be used after its handler has returned.
type requestParams interface {
	// Of reports whether these are the members of params, which middleware may have replaced.
	Of(params json.RawMessage) bool
	// Param returns the value of a member, or nil if there is none. It is part of the params.
	Param(name string) json.RawMessage
	// MetaValue returns the value of a member of _meta that the protocol defines for requests, or
	// nil if there is none.
	MetaValue(key string) json.RawMessage
}

// requestParamsFrom returns the members of the params of a request that a server handles, or nil
// for another context.
func requestParamsFrom(ctx context.Context) requestParams {
	members, _ := ctx.Value(contextkey.RequestParams{}).(requestParams)
	return members
}
