package gateway

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A target is a tool, prompt or resource of one server, used on behalf of one client.
type target struct {
	upstream         *upstreamServer
	id, name         string           // the server's ID, and its own name of the item or the URI
	idempotent       bool             // the request may be repeated
	perSession       bool             // host.Server.PerSession
	session          string           // set if perSession is and the client has a session
	conn             *server.Conn     // the client's connection; nil for an operation
	owner            string           // identifies the client that may resume the call
	answersQuestions bool             // OnElicit of the server's options answers questions
	level            mcp.LoggingLevel // Options.LogLevel of the server
	meta             mcp.Meta         // of the client's request, as forwardedMeta returns it

	maxArguments, maxResult int // bytes
}

// clientKey identifies the client.Client of the request: the shared one or the one of a session.
func (t *target) clientKey() string { return t.id + "\n" + t.session }

// isStateless reports whether several clients may share the connection of the request.
func (t *target) isStateless() bool { return t.conn == nil || t.conn.Context().Done() == nil }

// enterSession records a use of the server by the client's session, if the server has a process for
// it; leave ends the use.
func (t *target) enterSession() (leave func()) {
	if t.session == "" {
		return func() {}
	}
	return t.upstream.g.sessions.Enter(t.session, t.conn.Context())
}

// ownerOf returns the owner of the request in ctx: its session or, for a call of an operation, a
// text with its principal.
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
	return dispatch.PrincipalFrom(ctx)
}
