package server

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
)

// ConnFrom returns the connection that the request has come by which ctx belongs to; nil outside of requests.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
}

// PrincipalFrom returns who the client is, in the context of what is done for it, as its transport has authenticated it; "" for nobody in particular.
// An operation learns so who has called it on any surface.
func PrincipalFrom(ctx context.Context) string {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn.principal
	}
	if call := dispatch.CallFrom(ctx); call != nil {
		return call.Principal
	}
	return ""
}

// An origin is where a request comes from.
type connContext struct {
	context.Context
	conn *Conn
	link Link // nil: the request's peer
}

type connKey struct{}

func (o *connContext) Value(key any) any {
	if key == (connKey{}) {
		return o
	}
	return o.Context.Value(key)
}
