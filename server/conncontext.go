package server

import (
	"context"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ConnFrom returns the connection of the request or hook call that ctx belongs to. Outside of these
// it returns nil.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
}

// RevisionFrom returns the revision of the client of the request that ctx belongs to, in both eras.
// Outside of a request it returns "".
func RevisionFrom(ctx context.Context) mcp.Revision {
	if r := requestFrom(ctx); r != nil && r.era != nil {
		return r.era.revision
	}
	return ""
}

// A connContext is a context with the connection of a message, and with the message's own link if
// it has one.
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
	case contextkey.Connection{}:
		return o.conn
	case contextkey.Principal{}:
		return o.conn.principal
	}
	return o.Context.Value(key)
}
