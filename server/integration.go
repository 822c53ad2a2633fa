package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Integration is the part of a [Server] that transports and gateways use, and applications do
// not need. A transport that receives messages one by one, such as package streamable, makes a
// [Conn] for each client and passes it messages with [Conn.Handle]. A gateway, such as package
// client/host/gateway, offers what other servers have and follows what its own clients do.
//
// All its methods are safe for concurrent use. Callbacks may block and call back: none is called
// with a lock held, and a panic in one is logged and goes no further.
type Integration struct{ s *Server }

// Integration returns the methods for transports and gateways.
func (s *Server) Integration() Integration { return Integration{s} }

// NewConn returns a connection to a client. link carries what the server sends outside of
// requests; nil means that it cannot, so that a legacy client gets no change notifications.
// principal is the identity that the transport has authenticated, or "". The connection
// ends with ctx or with [Conn.Close], which the transport has to call in either case.
func (i Integration) NewConn(ctx context.Context, link Link, principal string) *Conn {
	c := &Conn{
		server:    i.s,
		link:      i.s.wrapLink(link),
		principal: principal,
		closing:   make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	i.s.addConn(c)
	return c
}

// NewReplicatedConn is NewConn for a legacy session over HTTP whose next request may reach another
// of several servers behind one address. These share [Options].StateKey and nothing else: the
// client carries its session itself, see [Integration.SealSession]. The server sends such a client
// no requests, since the answer could reach another server, and neither declares nor accepts
// resource subscriptions, log levels and tasks.
func (i Integration) NewReplicatedConn(ctx context.Context, link Link, principal string) *Conn {
	c := i.NewConn(ctx, link, principal)
	c.replicated = true
	return c
}

// Stateless returns a connection for the requests of modern clients that come without one, as over
// HTTP: any number of requests at once, all of the same principal. The server remembers nothing of
// them. A [dispatch] session that such a request opens belongs to no connection and does not end
// with one. The connection needs no Close. subscriptions/listen needs a connection of
// [Integration.NewConn].
func (i Integration) Stateless(principal string) *Conn {
	return &Conn{
		server:    i.s,
		principal: principal,
		ctx:       context.Background(),
		cancel:    func() {},
		closing:   make(chan struct{}),
	}
}

// SealSession returns the session ID of a replicated connection whose client has sent initialize:
// visible ASCII that holds the negotiated revision, encrypted and valid for the client's principal
// for the given lifetime.
func (i Integration) SealSession(c *Conn, lifetime time.Duration) (id string, err error) {
	return c.sealSession(lifetime)
}

// RestoreSession makes a new replicated connection continue the session that has this ID, which
// [Integration.SealSession] has returned on this server or another. It fails if the ID is not
// one of these, has expired, or belongs to another principal.
func (i Integration) RestoreSession(c *Conn, id string) error { return c.restoreSession(id) }

// Memory returns the pool for the bytes of requests and responses, [Options].Memory or its
// default. A transport opens an account in it for each principal.
func (i Integration) Memory() *quota.Pool { return i.s.o.Memory }

// Logger returns [Options].Logger or its default.
func (i Integration) Logger() *slog.Logger { return i.s.log }

// Hooks returns the hooks that a transport calls for each message, since it has no [rpc.Peer] that
// does. Hooks.Panic is never nil.
func (i Integration) Hooks() rpc.Hooks { return i.s.hooks().Safe() }

// HookContext returns ctx with the values of a connection, for [rpc.Hooks].Frame: those that
// handlers see, so that [ConnFrom] returns the connection.
func (i Integration) HookContext(ctx context.Context, c *Conn) context.Context {
	return &connContext{ctx, c, nil}
}

// HeaderParams returns the parameters of a tool that clients over HTTP repeat in headers
// (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters). It returns
// nil if there are none, if there is no such tool, or if the tool's annotations break the rules.
// The slice is shared and must not be changed.
func (i Integration) HeaderParams(tool string) []mcp.HeaderParam { return i.s.headerParams(tool) }

// Declare makes the server declare the capabilities for these kinds before the first of each is
// added: a legacy client reads the capabilities only once, in the answer to initialize. Tools are
// always declared; prompts and templates imply completions.
func (i Integration) Declare(kinds ...Kind) { i.s.declare(kinds...) }

// DeclareApps declares the extension of apps before [Server.AddApp], for a server that forwards the
// apps of others. The _meta of its definitions then says which tools have apps, and items of the
// extension [mcp.ExtensionApps] are those of apps.
func (i Integration) DeclareApps() { i.s.apps.used.Store(true) }

// ResolveForApp replaces the names of tools and URIs of resources that an app uses, which are those
// of its own server, by those of a gateway. fn is called for a tools/call or resources/read of a
// client with apps whose _meta names the app, see [mcp.MetaApp], and, with app "", for a tools/call
// of an unknown name. It returns the name or URI to use; an error answers the request. fn nil stops
// it. It must be safe for concurrent use.
func (i Integration) ResolveForApp(
	fn func(ctx context.Context, app string, kind Kind, name string) (string, error)) {
	i.s.setAppResolver(fn)
}

// DeferListChanged defers list_changed notifications until release is called, so that related
// changes are announced once. Lists show each change at once. If several callers defer at a time,
// the last release sends what is due. DeferListChanged does not block, and release may be called
// more than once.
func (i Integration) DeferListChanged() (release func()) { return i.s.deferListChanged() }

// OnClientEvent calls fn with each event of each legacy client, in order and one at a time, and
// with ClientReady for each client that is ready already. fn runs in a goroutine of its own. While
// it blocks, no function of OnClientEvent gets further events. After stop has returned, fn is not
// called again, though a call in progress may still run.
func (i Integration) OnClientEvent(fn func(c *Conn, e ClientEvent)) (stop func()) {
	return i.s.clientEvents.observe(fn)
}

// OnSubscriptionChange calls fn whenever the result of [Integration.SubscribedResources] may have
// changed. The request or connection that has changed it waits for fn. After stop has returned, fn
// is not called again, though a call in progress may still run.
func (i Integration) OnSubscriptionChange(fn func()) (stop func()) {
	return i.s.onSubscriptionChange(fn)
}

// SubscribedResources returns the URIs of the resources that clients are subscribed to, sorted and
// without duplicates.
func (i Integration) SubscribedResources() []string { return i.s.subscribedResources() }

// ReadUnlisted sets the function that reads a URI that is neither a resource nor matches a template
// of this server: a resource link in a result need not be in any list (2026-07-28, server/tools,
// Resource Links). read follows the rules of [Resource].Read, and returns [ResourceNotFound] for a
// URI that it does not know. It replaces the function of an earlier call; nil removes it.
func (i Integration) ReadUnlisted(
	read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)) {
	i.s.setUnlistedReader(read)
}

// AwaitMissing sets the function that is called when a client calls a tool, or gets a prompt, that
// this server does not have: a gateway whose servers are still starting waits there. When await
// returns nil, the name is looked up once more. Its error follows the rules of [Resource].Read. It
// replaces the function of an earlier call; nil removes it.
func (i Integration) AwaitMissing(await func(ctx context.Context, kind Kind, name string) error) {
	i.s.setMissingAwaiter(await)
}
