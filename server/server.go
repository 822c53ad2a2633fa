// Package server implements an MCP server. It offers the operations of a catalog as tools to
// clients of every protocol revision, over any stream or transport.
//
//	catalog := dispatch.NewCatalog()
//	dispatch.Add(catalog, dispatch.Spec{
//		Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read}, weather)
//	err := server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog).ServeStdio(ctx)
//
// # The path of a request
//
// A transport passes each message to one handler, which does the following:
//
//   - It determines the era of the client from the members of params and from the handshake (see
//     the function classify).
//   - It looks up the method in one table and calls its function.
//   - For tools/call, that function finds the tool and passes the arguments to
//     [dispatch.Dispatcher], which returns an envelope, never an error.
//   - The envelope becomes the result of the tool.
//
// In a picture:
//
//	tools/call ─► tool table ─► dispatch.Dispatcher ─► envelope
//	           ─► {"structuredContent":…,"content":[…],"isError":…}
//
// # Two eras
//
// A client of the modern era (2026-07-28) states its revision and capabilities in each request. The
// server remembers nothing about it, so any number of such clients may share one stream. A client
// of the legacy era (2024-11-05 to 2025-11-25) opens with initialize, and the negotiated revision
// and capabilities are valid until the stream ends. The server serves both at once, without an
// option.
//
// # Order
//
// On a stream, notifications are handled in the order of arrival, and a request is handled after
// all notifications before it. Requests run concurrently, so their responses may come in any order.
// The only exception is initialize, which is answered before the next message is handled. Over HTTP
// each message is a separate POST, and concurrent POSTs have no order: a client that needs one
// waits for the response, or for the 202 status of a notification, before it sends the next
// message. Within one response stream, notifications precede the response.
//
// # Resources, prompts and tools in MCP's terms
//
// [Server.AddResource], [Server.AddResourceTemplate] and [Server.AddPrompt] offer resources,
// resource templates and prompts. [AddTool] offers a Go function as a tool in MCP's own terms: its
// result is text, images or structured data, without an envelope. Methods that add an item return
// an error and replace the item with the same name or URI; [Must] panics with the error, for a
// program that adds its items when it starts, and AddTool panics itself. Items can be added and
// removed while clients are connected, and clients are notified. [Options].Resources computes
// resources when a client asks for them. A server needs no operations: New accepts a nil catalog.
// [Server.AddSkills] offers a directory of skills, instructions with files, which hosts load when
// they need them. [Options].Visible decides for each request which items its client may see and
// use.
//
// # Asking the client
//
// A handler may ask its client: [Elicit] asks the user, [Sample] the model, [Roots] for
// directories. The same handler serves both eras. A legacy client gets a request, and the handler
// waits for the response. A modern client receives the questions as the result of its request. It
// repeats the request with the answers and with requestState, which only the server can decrypt.
// Then the handler runs again, and Elicit returns the answer. So the server keeps no state of
// modern clients, and several servers behind one address share only [Options].StateKey. A
// requestState is valid for 15 minutes, for one principal and one request. The server does not
// record which ones it has received, so a client may use one again until it expires: see [Once].
//
// # Errors and panics
//
// A panic in a function that the application passes to this package is logged with its stack and
// passed to Hooks.Panic; the process continues. In an operation it becomes an envelope with the
// code internal_error, in a function of [AddTool] a result with IsError. After a panic in a
// function of [RawTool], [Resource], [ResourceTemplate] or [Prompt], in [Options].Visible or in
// middleware, the request is answered with the error -32603, "Internal error", without the text of
// the panic.
//
// # Audit, metrics and limits
//
// [Options].Interceptors get every use of a tool, prompt or resource with its arguments, caller and
// result, however it was added; their contexts belong to the request, for functions such as
// [ConnFrom]. [Options].Middleware gets each message, lists and the handshake included.
// [Options].Hooks only observe. [dispatch.Interceptor] has the order of all.
//
// # Extensions and apps
//
// An [Extension] adds methods, notifications and keys of _meta that MCP itself does not define.
// [Options].Extensions declares it to clients of both eras. Its additions exist only for clients
// that declare it too, unless ServerOnly is set. Three extensions are built in: tasks; skills, see
// [Server.AddSkills]; and apps, the pages that hosts show beside the results of tools, see
// [Server.AddApp].
//
// # Transports
//
// [Server.Serve] and [Server.ServeStdio] serve streams; package streamable serves HTTP. Another
// kind of transport passes messages one by one: see [Integration], [Conn.Handle] and [Link].
//
// # Slow and silent clients
//
// Package rpc bounds the memory that a client can make the server use. Change notifications are
// coalesced: a client that does not read receives one of each kind when it reads again, and delays
// no other client.
//
// # Tasks
//
// A tool whose Execution permits it, or an operation that [TaskOptions].For selects, may run as a
// task: its call is answered at once, and the handler continues. The client polls the task, answers
// its input requests, or cancels it. [Server.Close] ends the tasks that still run.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Info is the name and version of a server; both are required.
type Info = mcp.Implementation

// Options are the settings of a [Server]. The zero value is ready to use.
type Options struct {
	Instructions string // instructions on how to use the server, for the client's model
	// Dispatch are the settings for operations: interceptors, timeouts, the log. Lenient also
	// applies to raw tools.
	Dispatch dispatch.Options
	// logs errors of handlers and clients, never arguments or results; nil: slog.Default()
	Logger *slog.Logger
	// Limits apply to each connection. MaxAppend is the largest message in bytes that is sent over
	// a stream; its default is [mcp.DefaultMaxSend], or MaxFrame if that is less. A larger result
	// becomes an error.
	Limits   rpc.Limits
	PageSize int // items in one page of a list; 0: 1000
	// ShutdownTimeout is how long calls may continue after the context of Serve has ended; 0: 1.5 s
	ShutdownTimeout time.Duration
	// MaxSubscriptions limits the open subscriptions/listen requests of one connection; 0: 1024.
	MaxSubscriptions int
	// Tools selects how operations become tools; the default is one tool for each operation.
	Tools Projection
	// TrustClients runs destructive operations without a confirmation. It is for clients that ask
	// their users before they call a tool with destructiveHint, or that have no user. Without it,
	// the server asks the client's user by elicitation; if the client does not support that, the
	// call fails with confirmation_required.
	TrustClients bool
	// Extensions are declared to clients of both eras (SEP-2133). New panics if one is invalid, or
	// if two have the same ID or a common method. The extensions for tasks, skills and apps are
	// built in.
	Extensions []Extension
	// Capabilities, if set, may remove capabilities before they are declared, for a server that
	// represents another one. It changes only the declaration.
	Capabilities func(*mcp.ServerCapabilities)
	// Resources computes resources and templates when a client asks for them, in addition to those
	// that were added; nil: none. If it is set, PublicLists has no effect.
	Resources *ResourceSource
	// Visible reports whether the client of a request may see and use an item; nil: every item. It
	// is called for each item of a list and for each use, so it must be fast. If it is set,
	// PublicLists has no effect.
	Visible func(ctx context.Context, kind mcp.Kind, key string) bool
	// Memory bounds the bytes of the requests and responses of all clients, and of the memory that
	// handlers reserve with [dispatch.Reserve]; nil: 256 MiB. Other servers and HTTP
	// handlers may use the same budget.
	Memory *dispatch.Budget
	// MaxWatched limits the resources that a legacy client, or one subscriptions/listen request,
	// may subscribe to; 0: 1024.
	MaxWatched int
	// Watched bounds the bytes of the URIs that all clients are subscribed to; nil: 16 MiB. A
	// gateway sends them to its servers again. Each principal has a share, as of Memory. A URI may
	// have 8 KiB. Other servers may use the same budget.
	Watched *dispatch.Budget
	// Tasks are the settings of tasks.
	Tasks TaskOptions
	// StateKey is the secret that encrypts requestState: 32 random bytes or more; nil: a random
	// key. Servers behind one address must have the same key.
	StateKey []byte
	// ListTTL is the ttlMs of lists for modern clients: how long caches may keep them; 0: not at
	// all.
	ListTTL time.Duration
	// PublicLists gives lists the cacheScope "public" in place of "private", so that shared caches
	// may keep them.
	PublicLists bool
	// Middleware wraps the handling of each incoming message, Outgoing the sending of each request
	// and notification; the first is the outermost. The handler that Outgoing wraps sends the
	// message and returns the client's result. [dispatch.PrincipalFrom] returns the client's
	// principal, and [mcp.RequestParamsFrom] finds the members of a request's params.
	// Middleware that changes params must replace them, and must not modify their bytes.
	// The result of a request of either side is a [*Result].
	Middleware, Outgoing []rpc.Middleware
	// Interceptors wrap each tools/call, prompts/get and resources/read of an existing item on
	// every transport, whether it is an operation, a typed tool or a raw tool; the first is the
	// outermost. A call that runs as a task is wrapped in the task. [dispatch.Interceptor] says in
	// which order a call passes Middleware, these, and those of Dispatch.
	Interceptors []dispatch.Interceptor
	// Hooks observe the messages of all connections. In the context of Frame, [ConnFrom] returns
	// the connection. Over HTTP, initialize arrives before its connection exists, and a message
	// that is refused early may have no connection.
	Hooks rpc.Hooks
}

// A Server serves MCP clients, any number of them at once. All its methods are safe for concurrent
// use.
type Server struct {
	o             Options
	info          json.RawMessage // Info, encoded
	modernSuffix  []byte          // see the function modernSuffix
	sealer        func() sealer   // made at its first use, because few servers need it
	catalog       *dispatch.Catalog
	dispatcher    *dispatch.Dispatcher
	log           *slog.Logger
	closedAccount *quota.Account // an empty account: that of a request that has ended
	handler       rpc.Handler
	interceptors  dispatch.Handler // the chain of Options.Interceptors; nil: there are none
	tools         atomic.Pointer[tools]
	headers       atomic.Pointer[toolHeaders]
	addedTools    collection
	resources     collection
	templates     templates
	prompts       collection
	skills        skills
	completions   atomic.Bool // a prompt or template with Complete has been added
	tasks         tasks
	extensions    *extensions
	apps          apps
	added         map[mcp.Kind]*collection  // the collections above; read only
	providers     map[mcp.Kind][]provider   // read only
	upstreams     atomic.Pointer[Upstreams] // never nil

	mu                    sync.Mutex
	conns                 map[*Conn]struct{}
	watchers              watchers
	subscriptionObservers []*func() // see Integration.OnSubscriptionChange
	stopCatalogWatch      func()    // set while there are connections
	clientEvents          clientEvents
	deferrals             int // calls of DeferListChanged that are not released
	deferred              map[changeNotification]struct{}
}

// New returns a server with default options that offers the operations of the catalog, including
// those that are added later. A nil catalog is an empty one.
func New(info Info, catalog *dispatch.Catalog) *Server { return Options{}.New(info, catalog) }

// New returns a server with these options.
func (o Options) New(info Info, catalog *dispatch.Catalog) *Server {
	if catalog == nil {
		catalog = dispatch.NewCatalog()
	}
	o.PageSize = cmp.Or(o.PageSize, 1000)
	o.MaxSubscriptions = cmp.Or(o.MaxSubscriptions, 1024)
	o.MaxWatched = cmp.Or(o.MaxWatched, 1024)
	o.ListTTL = max(o.ListTTL, 0)
	if o.Limits.MaxAppend <= 0 {
		o.Limits.MaxAppend = min(mcp.DefaultMaxSend,
			cmp.Or(max(o.Limits.MaxFrame, 0), mcp.DefaultMaxSend))
	}
	o.PublicLists = o.PublicLists && o.Visible == nil && o.Resources == nil
	if o.Memory == nil {
		o.Memory = dispatch.NewBudget(256 << 20)
	}
	if o.Watched == nil {
		o.Watched = dispatch.NewBudget(16 << 20)
	}
	o.Logger = contain.Logger(o.Logger)
	if o.Dispatch.Logger == nil {
		o.Dispatch.Logger = o.Logger
	}
	encoded, err := mcp.Marshal(info)
	if err != nil {
		// only an invalid raw JSON field can cause this
		panic("server: the Info cannot be encoded: " + err.Error())
	}
	s := &Server{
		o: o, info: encoded, modernSuffix: modernSuffix(encoded), sealer: lazySealer(o.StateKey),
		catalog: catalog, dispatcher: dispatch.NewDispatcher(catalog, o.Dispatch),
		log: lograte.Logger(o.Logger), conns: make(map[*Conn]struct{}), watchers: make(watchers),
		deferred: make(map[changeNotification]struct{}),
	}
	if s.extensions, err = newExtensions(o.Extensions); err != nil {
		panic("server: the Extensions: " + err.Error())
	}
	s.closedAccount = o.Memory.Pool().Open("")
	s.closedAccount.Close()
	s.tasks.init(o.Tasks)
	if _, err := mcp.Marshal(s.capabilities(&era{modern: true, revision: mcp.Latest})); err != nil {
		panic("server: the Extensions cannot be encoded: " + err.Error())
	}
	s.handler = s.handle
	if len(o.Middleware) > 0 {
		s.handler = scan(rpc.Chain(s.handle, o.Middleware...))
	}
	s.interceptors = dispatch.Chain(o.Interceptors)
	s.added = map[mcp.Kind]*collection{mcp.KindTool: &s.addedTools, mcp.KindPrompt: &s.prompts,
		mcp.KindResource: &s.resources, mcp.KindResourceTemplate: &s.templates.collection,
		mcp.KindSkill: &s.skills.collection}
	s.providers = s.newProviders()
	s.upstreams.Store(&Upstreams{})
	s.setResourceSource()
	return s
}

// runCallback calls a callback of the application, and logs it if it panics.
func (s *Server) runCallback(name string, f func()) {
	if failure := contain.Run(f); failure != nil {
		s.log.Error("a callback did not return", "callback", name, "error", failure, "stack",
			string(failure.Stack))
	}
}

// addConn adds a connection. With the first connection it begins to observe the catalog.
func (s *Server) addConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	if s.stopCatalogWatch == nil {
		s.stopCatalogWatch = s.catalog.OnChange(func() {
			s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged})
		})
	}
}

func (s *Server) removeConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.mu.Lock()
	s.watchers.remove(c, slices.Collect(maps.Keys(c.subscribed))...)
	c.mu.Unlock()
	if len(s.conns) == 0 && s.stopCatalogWatch != nil {
		s.stopCatalogWatch()
		s.stopCatalogWatch = nil
	}
}
