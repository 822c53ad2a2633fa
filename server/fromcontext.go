package server

import (
	"bytes"
	"context"
	"strings"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/turn"
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
		return r.era.Revision
	}
	return ""
}

// CapabilitiesFrom returns the capabilities that the client of a request declares. It returns the
// zero value outside of a request, or if the client's value is invalid.
func CapabilitiesFrom(ctx context.Context) mcp.ClientCapabilities {
	if r := requestFrom(ctx); r != nil {
		can, _ := r.era.ClientCapabilities()
		return can
	}
	return mcp.ClientCapabilities{}
}

// metaPrefix begins the keys of _meta that MCP defines (2026-07-28, Base Protocol, "_meta").
const metaPrefix = "io.modelcontextprotocol/"

// MetaFrom returns a copy of those members of the _meta of the request that ctx belongs to that the
// client has added itself: those that neither MCP nor a function of this package gives a meaning.
// It is nil if there are none. Nobody has authenticated what they say.
func MetaFrom(ctx context.Context) (m mcp.Meta) {
	r := requestFrom(ctx)
	if r == nil {
		return nil
	}
	for token, value := range jsonscan.Members(r.params.Get(paramMeta)) {
		key, ok := jsonscan.Unquote(token)
		if !ok || r.params.Meta.Member(key) != nil || strings.HasPrefix(string(key), metaPrefix) {
			continue
		}
		if m == nil {
			m = mcp.Meta{}
		}
		m[string(key)] = bytes.Clone(value)
	}
	return m
}

// A Trace is the trace context that a client sends with a request: values of W3C Trace Context and
// Baggage (2026-07-28, basic, _meta). They are not parsed and must not be trusted.
type Trace struct{ Traceparent, Tracestate, Baggage string }

// TraceFrom returns the trace context of the request that ctx belongs to, or the zero value.
// Requests to the client carry it automatically.
func TraceFrom(ctx context.Context) Trace {
	r := requestFrom(ctx)
	if r == nil {
		return Trace{}
	}
	text := func(raw []byte) string {
		text, _ := jsonscan.Text(raw)
		return text
	}
	m := &r.params.Meta
	return Trace{text(m.Traceparent), text(m.Tracestate), text(m.Baggage)}
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
	case turn.Key{}:
		return &o.conn.server.line
	}
	return o.Context.Value(key)
}
