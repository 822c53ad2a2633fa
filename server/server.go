package server

import (
	"cmp"
	"context"
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
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/clientevents"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/results"
	"github.com/stdwire/stdwire/server/internal/sealed"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
)

// Info is the name and version of a server, which clients show and log. MCP requires both members;
// an empty one is sent as an empty text.
type Info = mcp.Implementation

// Options are the settings of a [Server]. The zero value is ready to use.
type Options struct {
	Instructions string // instructions on how to use the server, for the client's model
	// Dispatch are the settings for operations: interceptors, timeouts, the log. Lenient also
	// applies to raw tools.
	Dispatch dispatch.Options
	// ShowErrors sends the text of every error that a function of the application returns, for a
	// server whose errors are written for the client or its model and hold no secrets: as a result
	// with isError for a tool of any kind, and otherwise, as for resources, prompts, completions
	// and methods of extensions, as the error -32603. Without it, such texts are only logged, and
	// the client reads that they are withheld. An error that is or wraps a [*dispatch.Error], a
	// [dispatch.Code] or an [*rpc.Error] has a text for the client, with ShowErrors or without it.
	// No panic is shown. Middleware that returns errors of its own can be wrapped in
	// [rpc.ShowErrors], as the first of Middleware.
	ShowErrors bool
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
	// is called for each item of a list, for each use and for each update of a resource that the
	// client is subscribed to, so it must be fast. If it is set, PublicLists and ListTTL have no
	// effect. See also [Integration.Origin] and [Integration.ListsChanged].
	Visible func(ctx context.Context, kind mcp.Kind, key string) bool
	// ToolView, if set, says how tools/list shows the tools to a client, by the name in its
	// clientInfo, which nobody has authenticated; nil: all as they are. It is called for each
	// request for the list, so it must be fast, and may be called concurrently. To a client
	// with Search, the names of the four tools mean these, whatever tools the server has.
	ToolView func(client string) ToolView
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
	// principal. Middleware that changes params must replace them, and must not modify their bytes.
	// The result of a request of either side is a [*Result].
	Middleware, Outgoing []rpc.Middleware
	// Interceptors wrap each tools/call, prompts/get and resources/read of an existing item on
	// every transport, whether it is an operation, a typed tool or a raw tool; the first is the
	// outermost. A call that asks a modern client runs once for each round of answers, and
	// [Result.Type] is input_required in all but the last; see [Elicit]. A call that runs as a task
	// is wrapped in the task. [dispatch.Interceptor] says in
	// which order a call passes Middleware, these, and those of Dispatch.
	Interceptors []dispatch.Interceptor
	// Hooks observe the messages of all connections. In the context of Frame, [ConnFrom] returns
	// the connection. Over HTTP, initialize arrives before its connection exists, and a message
	// that is refused early may have no connection.
	Hooks rpc.Hooks
}

// A Server serves MCP clients, any number of them at once. All its methods are safe for concurrent
// use.
//
// There is no method AddTool: tools with Go types are added by the function [AddTool], because
// methods have no type parameters. [Server.AddRawTool] adds a tool whose schema is JSON. Resources,
// templates and prompts have no such types and are added by methods.
type Server struct {
	o             Options
	results       *results.Common
	sealer        func() sealed.Sealer // made at its first use, because few servers need it
	catalog       *dispatch.Catalog
	dispatcher    *dispatch.Dispatcher
	log           *slog.Logger
	line          turn.Line      // for the work on large messages of all streams
	closedAccount *quota.Account // an empty account: that of a request that has ended
	handler       rpc.Handler
	interceptors  dispatch.Handler // the chain of Options.Interceptors; nil: there are none
	tools         atomic.Pointer[tools]
	headers       atomic.Pointer[toolHeaders]
	views         toolViews
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

	mu               sync.Mutex
	conns            map[*Conn]struct{}
	watchers         subscriptions.Watchers[*Conn]
	changeObservers  []*func(method, uri string) // see Integration.OnChange
	stopCatalogWatch func()                      // set while there are connections
	clientEvents     clientevents.Events[*Conn, ClientEvent]
	deferrals        int // calls of DeferListChanged that are not released
	deferred         map[subscriptions.Change]struct{}
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
	if o.Visible != nil {
		o.ListTTL = 0
	}
	if o.Memory == nil {
		o.Memory = dispatch.NewBudget(256 << 20)
	}
	if o.Watched == nil {
		o.Watched = dispatch.NewBudget(16 << 20)
	}
	o.Logger = contain.Logger(o.Logger)
	o.Dispatch.ShowErrors = o.Dispatch.ShowErrors || o.ShowErrors
	o.Dispatch.Translate = translateRPC(o.Dispatch.Translate)
	o.Dispatch.Logger = cmp.Or(o.Dispatch.Logger, o.Logger)
	encoded, err := mcp.Marshal(info)
	if err != nil {
		// only an invalid raw JSON field can cause this
		panic("server: the Info cannot be encoded: " + err.Error())
	}
	s := &Server{
		o: o, results: results.New(encoded, o.ListTTL), sealer: sealed.Lazy(o.StateKey),
		catalog: catalog, dispatcher: o.Dispatch.New(catalog),
		log: lograte.Logger(o.Logger), conns: make(map[*Conn]struct{}),
		watchers: make(subscriptions.Watchers[*Conn]),
		deferred: make(map[subscriptions.Change]struct{}),
	}
	s.o.Hooks.Panic = s.logPanics(o.Hooks.Panic)
	if s.extensions, err = newExtensions(o.Extensions); err != nil {
		panic("server: the Extensions: " + err.Error())
	}
	s.clientEvents.First, s.clientEvents.Last = ClientReady, ClientGone
	s.clientEvents.Run = func(fn func()) { s.runCallback("OnClientEvent", fn) }
	s.clientEvents.Ended = func(c *Conn) bool { return c.ctx.Err() != nil }
	s.closedAccount = (*quota.Pool)(o.Memory).Open("")
	s.closedAccount.Close()
	s.tasks.init(o.Tasks, s.log)
	modern := &era.Era{Modern: true, Revision: mcp.Latest}
	if _, err := mcp.Marshal(s.capabilities(modern)); err != nil {
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
	if err := s.initToolViews(); err != nil {
		panic("server: the tools that find others: " + err.Error()) // their schemas are constant
	}
	s.upstreams.Store(&Upstreams{})
	s.apps.tools.Store(&map[string]mcp.ToolUI{})
	if o.Resources != nil {
		if o.Resources.Read == nil {
			panic("server: Options.Resources needs Read")
		}
		s.resources.EverUsed.Store(true)
	}
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
			s.listChanged(mcp.NotificationToolListChanged)
		})
	}
}

func (s *Server) removeConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	c.mu.Lock()
	s.watchers.Remove(c, slices.Collect(maps.Keys(c.told.URIs))...)
	c.mu.Unlock()
	if len(s.conns) == 0 && s.stopCatalogWatch != nil {
		s.stopCatalogWatch()
		s.stopCatalogWatch = nil
	}
}
