package gateway

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A target is a tool, prompt or resource of one server, used on behalf of one client.
type target struct {
	id, name         string // the server's own name for it
	idempotent       bool
	perSession       bool             // the server is not shared
	session          string           // of a server with PerSession; "" if the client has none
	conn             *server.Conn     // the client's connection; nil for an operation
	owner            string           // the client that may resume the call
	answersQuestions bool             // OnElicit of the server's options answers questions
	level            mcp.LoggingLevel // lowest level that the server always logs at

	maxArguments, maxResult int // bytes
}

// clientKey identifies the client.Client that is used: the shared one or that of a session.
func (t *target) clientKey() string { return t.id + "\n" + t.session }

// isStateless reports whether several clients may share the client's connection.
func (t *target) isStateless() bool { return t.conn == nil || t.conn.Context().Done() == nil }

// ownerOf returns the session of the request in ctx, or the principal of an operation's call.
func ownerOf(ctx context.Context) string {
	if conn := server.ConnFrom(ctx); conn != nil {
		return conn.Session()
	}
	return "operations of " + principal(ctx)
}

// principal returns the principal of the request or operation call in ctx.
func principal(ctx context.Context) string {
	if call := dispatch.CallFrom(ctx); call != nil {
		return call.Principal
	}
	return server.PrincipalFrom(ctx)
}
