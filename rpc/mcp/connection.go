package mcp

import "context"

// A Connection is what middleware can learn of the connection that a message belongs to. It is the
// value of [ConnectionKey] in the context of each message that a server or a client passes through
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
