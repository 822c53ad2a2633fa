package server

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ConnFrom returns the connection of the request or hook that ctx belongs to, or nil outside of
// them.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
}

// A connContext is a context with the connection, and the link if the message has its own.
type connContext struct {
	context.Context
	conn *Conn
	link Link // nil: the peer of the request
}

type connKey struct{}

func (o *connContext) Value(key any) any {
	switch key {
	case connKey{}:
		return o
	case mcp.ConnectionKey{}:
		return o.conn
	case dispatch.PrincipalKey{}:
		return o.conn.principal
	}
	return o.Context.Value(key)
}
