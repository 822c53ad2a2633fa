package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
	"github.com/stdwire/stdwire/server/internal/task"
)

// A Conn is one client: a stream, a legacy session over HTTP, or a single modern request over HTTP.
// All its methods are safe for concurrent use.
//
// [Server.Serve] makes the connection of a stream; another transport makes one with
// [Integration.NewConn].
type Conn struct {
	server     *Server
	session    SessionScope // SessionCarried for a legacy client of Stateless, too
	principal  string       // as authenticated by the transport
	ctx        context.Context
	cancel     context.CancelFunc
	closing    chan struct{} // closed to end the connection
	closeOnce  sync.Once
	goroutines sync.WaitGroup // goroutines of the connection, not of the transport

	legacy      atomic.Pointer[era.Era] // negotiated by initialize; nil before
	initialized atomic.Bool             // the client has sent notifications/initialized
	logLevel    atomic.Value            // an mcp.LoggingLevel; nil until logging/setLevel

	mu       sync.Mutex
	link     Link                 // for messages outside of requests; nil before a legacy handshake
	told     subscriptions.Client // what the client is told of, and what waits to be sent
	watched  *quota.Account       // for told.URIs, in Options.Watched; nil at first
	memory   *quota.Account       // for what outlives its message; nil at first
	owner    string               // of memory; set by initialize
	sending  bool                 // a goroutine runs sendChanges
	randomID string               // see Conn.sessionID
	viewer   context.Context      // of the latest request, ended or not; nil: see setViewer
}

// A Link sends messages to a client. An [rpc.Peer] is a Link; over HTTP each request has its own
// Link, which writes to the event stream of the request.
type Link interface {
	// Notify sends a notification. It may return before the client has received it. While too much
	// waits to be sent, it blocks until ctx ends.
	Notify(ctx context.Context, method string, params any) error
	// Call sends a request and blocks until the client responds or ctx ends. It is called only for
	// legacy clients.
	Call(ctx context.Context, method string, params, result any) error
}

// ConnOptions are what a transport knows of a client; see [Integration.NewConn].
type ConnOptions struct {
	// Link carries the messages that the server sends outside of requests. If it is nil, a legacy
	// client gets no change notifications.
	Link Link
	// Principal is the identity that the transport has authenticated, or "".
	Principal string
	// Session says where the session of a legacy client is. Only sessions over HTTP can be
	// elsewhere than at this server.
	Session SessionScope
}

// A SessionScope says which servers have a session of a legacy client. What one of them has of it,
// [Conn.SessionState] returns and [Conn.SetSessionState] sets at another one.
type SessionScope int

const (
	// SessionHere is the scope of a session that ends with its connection.
	SessionHere SessionScope = iota
	// SessionShared is the scope of a session whose next request may reach another one of several
	// servers, to which the transport passes on the state of the session, responses of the client,
	// cancellations and messages. The tasks of 2025-11-25 are neither declared nor accepted, unless
	// the servers share their tasks.
	SessionShared
	// SessionCarried is the scope of a session that the client carries to one of several servers,
	// which share only [Options].StateKey. The server sends such a client no requests, because the
	// response could reach another server. It neither declares nor accepts resource subscriptions,
	// log levels and tasks.
	SessionCarried
)

// NewConn returns a connection to a client. It ends with ctx or with [Conn.Close], which the
// transport must call in either case.
func (i Integration) NewConn(ctx context.Context, o ConnOptions) *Conn {
	c := &Conn{
		server:    i.s,
		link:      i.s.wrapLink(o.Link),
		session:   o.Session,
		principal: o.Principal,
		closing:   make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	i.s.addConn(c)
	return c
}

// Stateless returns a connection for requests of clients that have no connection, as over HTTP: any
// number of concurrent requests of one principal with this revision. The server keeps no state for
// them. A [dispatch] session that such a request opens belongs to no connection and does not end
// with one. The connection need not be closed. subscriptions/listen needs a connection of
// [Integration.NewConn].
//
// A legacy client needs no handshake. The server sends it no requests and no notifications outside
// of its request, and refuses what needs a session, as with [SessionCarried]. For an unknown
// revision Stateless returns nil.
func (i Integration) Stateless(principal string, revision mcp.Revision) *Conn {
	if _, ok := mcp.FeaturesOf(revision); !ok {
		return nil
	}
	c := &Conn{
		server:    i.s,
		principal: principal,
		ctx:       context.Background(),
		cancel:    func() {},
		closing:   make(chan struct{}),
	}
	if e, ok := era.Replicated(revision); ok {
		e.Stateless, c.session = true, SessionCarried
		c.legacy.Store(e)
		c.initialized.Store(true)
	}
	return c
}

// wrapLink wraps a link in Options.Outgoing.
func (s *Server) wrapLink(l Link) Link {
	if len(s.o.Outgoing) == 0 || l == nil {
		return l
	}
	return outgoing.Through(s.o.Outgoing, l,
		func(result json.RawMessage) any { return NewResult(result) })
}

// setLink sets the link for messages outside of requests.
func (c *Conn) setLink(link Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = c.server.wrapLink(link)
	c.startSending()
}

// agree stores the era that initialize has negotiated, in place of an earlier one.
func (c *Conn) agree(owner string, agreed *era.Era) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := countedBytes(len(agreed.Capabilities)) -
		countedBytes(len(era.Legacy(c.legacy.Load()).Capabilities))
	if c.retain(owner, more) != nil {
		return rpc.Errorf(rpc.CodeBusy,
			"There is no room for the client's capabilities of %d bytes; end a session, or try again later",
			len(agreed.Capabilities))
	}
	c.owner = owner
	c.legacy.Store(agreed)
	return nil
}

// countedBytes returns the memory to reserve for size bytes of a message that outlive it. Few bytes
// are not counted: the place of their connection, task or subscription covers them.
func countedBytes(size int) int64 {
	if size <= 1<<10 {
		return 0
	}
	return int64(size)
}

// Retain reserves n more bytes of the client's [Options].Memory for what a gateway keeps of the
// messages of its client, or fewer if n is negative, until the connection is closed. It fails if
// the principal of the client has its share. It is for a legacy client that has sent initialize.
func (c *Conn) Retain(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retain(c.owner, n)
}

// retain is Retain for the owner of the memory. The caller holds mu.
func (c *Conn) retain(owner string, n int64) error {
	switch {
	case n == 0:
		return nil
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	case c.memory == nil:
		c.memory = (*quota.Pool)(c.server.o.Memory).Open(owner)
	}
	return c.memory.Resize(max(0, c.memory.Held()+n))
}

// errReplicated is the error for a request that a replicated connection cannot serve.
var errReplicated = rpc.Errorf(rpc.CodeInvalidRequest,
	"Invalid Request: servers that share their sessions, or have none, cannot do this for clients before %s",
	mcp.Latest)

// Handle handles one message of the client and blocks until the result is ready. Meanwhile,
// handlers send notifications and requests to the client through link, which must work until Handle
// returns; if link is nil, they can send neither. The result and error are those of an
// [rpc.Handler]; a transport encodes them with [rpc.AppendResponse].
func (c *Conn) Handle(ctx context.Context, req *rpc.Request, link Link) (any, error) {
	return c.server.handler(&connContext{ctx, c, c.server.wrapLink(link)}, req)
}

// HookContext returns the context for [rpc.Hooks].Frame: ctx with the values of the connection that
// handlers see, so that [ConnFrom] returns it.
func (c *Conn) HookContext(ctx context.Context) context.Context {
	return &connContext{ctx, c, nil}
}

// Revision returns the revision negotiated with a legacy client, or "" before initialize.
func (c *Conn) Revision() mcp.Revision {
	if e := c.legacy.Load(); e != nil {
		return e.Revision
	}
	return ""
}

// Finish ends the open subscriptions/listen requests with a result. Other requests continue.
func (c *Conn) Finish() { c.closeOnce.Do(func() { close(c.closing) }) }

func (c *Conn) isFinishing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// Close ends the connection and the [dispatch] sessions that its client has opened. It blocks until
// the connection's goroutines have ended. It does not end requests in progress: the transport ends
// their contexts.
func (c *Conn) Close() {
	c.server.removeConn(c)
	defer c.server.subscriptionsChanged()
	c.mu.Lock() // no sendChanges begins after this
	c.cancel()
	c.memory.Close()
	c.watched.Close()
	c.mu.Unlock()
	c.server.clientEvents.Emit(c, ClientGone)
	c.goroutines.Wait()
}

// logPanics returns a hook that logs a panic before it calls the application's, which may be nil.
func (s *Server) logPanics(
	hook func(method string, value any, stack []byte)) func(string, any, []byte) {
	return func(method string, value any, stack []byte) {
		s.log.Error("a handler panicked", "method", method, "panic", value, "stack", string(stack))
		if hook != nil {
			hook(method, value, stack)
		}
	}
}

// Session returns a name of the client that no other connection ever has. Use it as a key for data
// that belongs to one client. For a connection of [Integration.Stateless] it is a name of the
// principal, and so the same for all clients of that principal.
func (c *Conn) Session() string {
	if c.isStateless() {
		return "principal " + c.principal
	}
	return task.OwnerSession + c.sessionID()
}

// isStateless reports whether [Integration.Stateless] returned the connection.
func (c *Conn) isStateless() bool { return c.ctx.Done() == nil }

// publicSession returns the Session of a [Client].
func (c *Conn) publicSession() string {
	if c.isStateless() {
		return ""
	}
	return c.sessionID()
}

// sessionID returns a random ID, the same one at each call.
func (c *Conn) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.randomID == "" {
		c.randomID = rand.Text()
	}
	return c.randomID
}

// hasNoTasks reports whether tasks of 2025-11-25 could not be found on the servers that share the
// session.
func (c *Conn) hasNoTasks() bool {
	return c.session == SessionShared && c.server.tasks.Shared() == nil
}

// hasSessionID reports whether that is the connection's sessionID.
func (c *Conn) hasSessionID(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.randomID == id
}

// Context returns a context that ends with the connection. For a connection of
// [Integration.Stateless] it never ends.
func (c *Conn) Context() context.Context { return c.ctx }

// Capabilities returns the capabilities of a legacy client, or the zero value before initialize. A
// modern client declares them in each request: see [CapabilitiesFrom].
func (c *Conn) Capabilities() mcp.ClientCapabilities {
	can, _ := era.Legacy(c.legacy.Load()).ClientCapabilities()
	return can
}

// unsolicitedLink returns the link for messages outside of requests, or nil.
func (c *Conn) unsolicitedLink() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
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
	case contextkey.Session{}:
		return o.conn.publicSession()
	case turn.Key{}:
		line := &o.conn.server.line
		if m, ok := o.Context.Value(key).(*turn.Message); ok && m.In(line) {
			return m
		}
		return line
	case task.Key{}:
		if s := o.conn.server; s.o.Tasks.Store == nil {
			return s.tasks.replica
		}
		return nil
	}
	return o.Context.Value(key)
}

// ConnFrom returns the connection of the request or hook call that ctx belongs to. Outside of these
// it returns nil.
func ConnFrom(ctx context.Context) *Conn {
	if o, ok := ctx.Value(connKey{}).(*connContext); ok {
		return o.conn
	}
	return nil
}

// A ClientEvent is a change of a legacy client's state.
type ClientEvent int

const (
	ClientReady ClientEvent = iota // the client has sent initialized; the first event, once
	ClientRoots                    // the client has sent notifications/roots/list_changed
	ClientLevel                    // the client has sent logging/setLevel; see [Conn.LogLevel]
	ClientGone                     // the client's connection has ended; the last event
)

// OnClientEvent calls fn with each event of each legacy client, in order and one at a time. It
// first calls fn with ClientReady for each client that is ready. fn runs on a separate goroutine.
// While fn blocks, no function of OnClientEvent gets further events. After stop has returned, fn is
// not called again, but a call in progress may still run.
func (i Integration) OnClientEvent(fn func(c *Conn, e ClientEvent)) (stop func()) {
	return i.s.clientEvents.Observe(fn)
}
