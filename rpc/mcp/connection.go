package mcp

import (
	"context"
	"encoding/json"
)

// A Connection tells middleware about the connection of a message. It is the value of
// [ConnectionKey] in the context of each message that a server or a client passes through
// middleware.
type Connection interface {
	// Revision returns the negotiated revision. It is "" before the handshake, and for a server
	// with a client of the modern era, which names the revision in each request.
	Revision() Revision
	// Context returns a context that ends with the connection. It never ends for the requests of
	// modern clients over HTTP, which have no connection.
	Context() context.Context
}

// ConnectionKey is the key of the [Connection] in the context of a message.
type ConnectionKey struct{}

// RequestParams are the members of the params of a request, which the server finds once, for itself
// and for middleware. They are the value of [RequestParamsKey] in the context of each request that
// a server passes through middleware. Like the request, they must not be used after its handler has
// returned.
type RequestParams interface {
	// Of reports whether these are the members of params, which middleware may have replaced.
	Of(params json.RawMessage) bool
	// Param returns the value of a member, or nil if there is none. It is part of the params.
	Param(name string) json.RawMessage
	// MetaValue returns the value of a member of _meta that the protocol defines for requests, or
	// nil if there is none.
	MetaValue(key string) json.RawMessage
}

// RequestParamsKey is the key of the [RequestParams] in the context of a request.
type RequestParamsKey struct{}
