package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/inflight"
	"github.com/stdwire/stdwire/client/host/gateway/internal/logging"
	"github.com/stdwire/stdwire/client/host/internal/override"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A target is a tool, prompt or resource of one server, used on behalf of one client.
type target struct {
	upstream         *upstreamServer
	id, name         string       // the server's ID, and its own name of the item or the URI
	idempotent       bool         // the request may be repeated
	session          string       // the session or user, if the server is not shared
	user             any          // what Upstream.User says of the user, for host.WithUser
	unusable         error        // why the caller cannot use the server; nil: he can
	conn             *server.Conn // the client's connection; nil for an operation
	owner            string       // identifies the client that may resume the call
	answersQuestions bool         // OnElicit of the server's options answers questions
	meta             mcp.Meta     // of the client's request, as server.MetaFrom returns it
	public           string       // the offered name, if an override has changed the name
	arguments        *override.Arguments
}

// isStateless reports whether several clients may share the connection of the request.
func (t *target) isStateless() bool { return t.conn == nil || t.conn.Context().Done() == nil }

// enterSession records a use of the server by the client's session, if the server has a process for
// each; leave ends the use.
func (t *target) enterSession() (leave func()) {
	if t.session == "" || t.upstream.sharing != host.PerSession {
		return func() {}
	}
	return t.upstream.g.sessions.Enter(t.session, t.conn.Context())
}

// targetOf returns the target of a tool or prompt, offered under this name, for the client of the
// request in ctx.
func (u *upstreamServer) targetOf(ctx context.Context, d *definition.Definition, public string,
	idempotent bool) target {
	t := u.target(ctx, d.Own, idempotent)
	t.arguments = d.Arguments
	if d.Name != d.Own {
		t.public = public
	}
	return t
}

// target returns the target with this own name for the client of the request in ctx.
func (u *upstreamServer) target(ctx context.Context, own string, idempotent bool) target {
	t := target{upstream: u, id: u.id, name: own, idempotent: idempotent,
		conn: server.ConnFrom(ctx), owner: ownerOf(ctx), meta: server.MetaFrom(ctx)}
	switch {
	case u.sharing == host.PerUser:
		t.session, t.user, t.unusable = u.userOf(ctx)
	case u.sharing == host.PerSession && t.isStateless():
		t.unusable = ErrNoSession
	case u.sharing == host.PerSession:
		t.session = t.owner
	}
	return t
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

// userOf returns the name of the user that the request in ctx uses a server with host.PerUser as,
// and what its connection gets to know of him.
func (u *upstreamServer) userOf(ctx context.Context) (name string, user any, err error) {
	if name = principal(ctx); name == "" {
		return "", nil, ErrNoUser
	}
	if u.user == nil {
		return name, nil, nil
	}
	err = contain.Do(func() (err error) {
		if name, user, err = u.user(ctx); err == nil && name == "" {
			err = fmt.Errorf("has no user for the principal %q", principal(ctx))
		}
		return err
	})
	if _, panicked := errors.AsType[*contain.PanicError](err); panicked {
		return "", nil, err // which the caller must not see
	}
	if err != nil {
		return "", nil, &userError{err}
	}
	return name, user, nil
}

var errNeedsLogin = errors.New("needs this user to log in")

// loginOf returns the function that asks the caller of the request in ctx to log in, or nil if he
// has, need not or cannot.
func (u *upstreamServer) loginOf(ctx context.Context) (ask askLogin) {
	if u.login == nil || u.sharing != host.PerUser || principal(ctx) == "" {
		return nil
	}
	if err := contain.Do(func() error {
		ask = u.login(ctx)
		return nil
	}); err != nil {
		u.warn("whether a user has logged in is unknown", err)
	}
	return ask
}

// use calls f with the client of the server, and once more if f may be repeated.
func (t *target) use(ctx context.Context, m *host.Manager, f func(*client.Client) error) error {
	if t.upstream.sharing == host.PerUser {
		ctx = host.WithUser(ctx, principal(ctx), t.user)
	}
	if t.idempotent {
		return m.UseIdempotent(ctx, t.id, t.session, f)
	}
	return m.Use(ctx, t.id, t.session, f)
}

// newRequest returns the request for a target. isCall says that a question of the server may belong
// to it.
func (g *Gateway) newRequest(t *target, isCall bool) *inflight.Request {
	r := &inflight.Request{Key: t.upstream.peer.Key(t.session), IsCall: isCall,
		Logs: logging.Queue{Server: t.id, Send: g.sendLog}}
	if !t.isStateless() {
		r.Conn = t.conn
	}
	return r
}

// sendLog sends a log message to the client of a request while the gateway is open.
func (g *Gateway) sendLog(ctx context.Context, message mcp.LoggingMessageParams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	return server.Log(ctx, message)
}

// use calls f with the client of a server on behalf of the request in ctx. isCall says that a
// question of the server may belong to the request.
func (g *Gateway) use(ctx context.Context, t *target, isCall bool,
	f func(*client.Client) error) error {
	if t.unusable != nil {
		return fmt.Errorf("server %q %w", t.id, t.unusable)
	}
	defer t.enterSession()()
	r := g.newRequest(t, isCall)
	g.requests.Begin(ctx, r)
	defer func() {
		if r.End() {
			g.peers.WakeServers()
		}
	}()
	return t.use(ctx, g.manager, func(c *client.Client) error {
		g.peers.RaiseLevel(ctx, c, &r.Logs)
		return f(c)
	})
}

// metaOption returns the call option that sends m as _meta, or nil if m is empty.
func metaOption(m mcp.Meta) []client.CallOption {
	if len(m) == 0 {
		return nil
	}
	return []client.CallOption{client.Meta(m)}
}

// metaFor returns the _meta to send to c: that of the target and, to a modern server, the log level
// that the client wants.
func (t *target) metaFor(ctx context.Context, c *client.Client) mcp.Meta {
	level := logging.MoreVerbose(server.LogLevelFrom(ctx), t.upstream.peer.Level)
	if level == "" || c.Era() != mcp.Modern {
		return t.meta
	}
	m := maps.Clone(t.meta)
	_ = m.Set(mcp.MetaLogLevel, level) // a string
	return m
}

// metaSize returns the number of bytes of the keys and values of m.
func metaSize(m mcp.Meta) (size int) {
	for key, value := range m {
		size += len(key) + len(value)
	}
	return size
}
