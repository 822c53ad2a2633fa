package server

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
)

// ConnFrom returns the connection of the request that ctx belongs to, or nil outside of a request.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
}

// PrincipalFrom returns the principal of the client that ctx belongs to, as the transport has
// authenticated it; "" if it has not. It works for the context of an operation on any surface.
func PrincipalFrom(ctx context.Context) string {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn.principal
	}
	if call := dispatch.CallFrom(ctx); call != nil {
		return call.Principal
	}
	return ""
}

// A connContext is a context with the connection, and the link if the message has its own.
type connContext struct {
	context.Context
	conn *Conn
	link Link // nil: the peer of the request
}

type connKey struct{}

func (o *connContext) Value(key any) any {
	if key == (connKey{}) {
		return o
	}
	return o.Context.Value(key)
}
