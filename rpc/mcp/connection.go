package mcp

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/contextkey"
)

// A Connection tells middleware about the connection of a message: see [ConnectionFrom].
type Connection interface {
	// Revision returns the negotiated revision. It is "" before the handshake, and for a server
	// with a client of the modern era, which names the revision in each request.
	Revision() Revision
	// Context returns a context that ends with the connection. It never ends for the requests of
	// modern clients over HTTP, which have no connection.
	Context() context.Context
}

// ConnectionFrom returns the connection of a message that a server or a client passes through
// middleware, or nil for another context.
func ConnectionFrom(ctx context.Context) Connection {
	connection, _ := ctx.Value(contextkey.Connection{}).(Connection)
	return connection
}

// RequestParams are the members of the params of a request, which the server finds once, for itself
// and for middleware: see [RequestParamsFrom]. Like the request, they must not be used after its
// handler has returned.
type RequestParams interface {
	// Of reports whether these are the members of params, which middleware may have replaced.
	Of(params json.RawMessage) bool
	// Param returns the value of a member, or nil if there is none. It is part of the params.
	Param(name string) json.RawMessage
	// MetaValue returns the value of a member of _meta that the protocol defines for requests, or
	// nil if there is none.
	MetaValue(key string) json.RawMessage
}

// RequestParamsFrom returns the members of the params of a request that a server passes through
// middleware, or nil for another context.
func RequestParamsFrom(ctx context.Context) RequestParams {
	members, _ := ctx.Value(contextkey.RequestParams{}).(RequestParams)
	return members
}
