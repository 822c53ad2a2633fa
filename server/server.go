// Package server is an MCP server: it projects a catalog of operations as tools, to clients of both eras, over any stream or transport.
//
//	catalog := dispatch.NewCatalog()
//	dispatch.Add(catalog, dispatch.Spec{Name: "weather.get", Summary: "Current weather.", Kind: dispatch.Read}, weather)
//	err := server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog).ServeStdio(ctx)
//
// # One message
//
// [rpc] hands a request over; [classify], a pure function of what the message says, settles the era; one table has the method; the
// method's function answers. A tool call goes on to the dispatcher, and what comes back, always an envelope, becomes the tool's result:
//
//	tools/call ─► tool table ─► dispatch.Dispatcher ─► envelope ─► {"structuredContent":…,"content":[…],"isError":…}
//
// # Two eras
//
// A client of the modern era (2026-07-28) says with every request which revision it speaks and what it can do. Nothing is remembered of it: any number of
// such clients, of any age, may share one stream. A client of the legacy era (2024-11-05 to 2025-11-25) opens with initialize, and what it
// agreed on then holds for the stream. Both are served at once and need no option.
//
// # More than operations
//
// [Server.AddResource], [Server.AddResourceTemplate] and [Server.AddPrompt] offer what MCP has beside tools, and [Server.AddTool] a tool in MCP's own terms, with images in
// its results, say. They may come and go while clients are there, who are told. [Options].Visible decides request by request what a client gets to see, and to use.
//
// # Asking the client
//
// A handler may ask: [Elicit] the client's user, [Sample] its model, [Roots] for its directories. One handler serves both eras. A legacy client is called, and the
// handler waits; a modern one gets the questions for a result and sends its request again, with the answers and a state that only the server can read, and the handler
// runs up to where it was. So a modern server needs no memory of its clients, and several of them need to share no more than [Options].StateKey.
//
// # Transports
//
// [Server.Serve] and [Server.ServeStdio] serve streams; package streamable serves HTTP. A transport of another kind hands over messages one by one: see
// [Server.NewConn], [Conn.Handle] and [Link].
//
// # Slow and silent clients
//
// The rpc package bounds what a client can make the server hold. Notifications that the server sends by itself (list_changed) are coalesced: a client that does not read
// gets one when it reads again, and delays nobody else.
//
// # Tasks
//
// A tool with [Tool].Tasks, or an operation that [TaskOptions].For names, may take longer than a client wants to wait: its call is answered with a task, and goes
// on. The client asks how far it is, answers its questions, or cancels it. [Server.Close] ends what still runs.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Info is how a server names itself; Name and Version are required.
type Info = mcp.Implementation

// Options are the settings of a [Server]. The zero value is ready for use.
type Options struct {
	Instructions string           // tells the client's model how the server is meant to be used
	Dispatch     dispatch.Options // how operations are run: interceptors, timeouts, the log of what goes wrong in them
	Logger       *slog.Logger     // hears of broken clients, never of arguments or results; nil: slog.Default()
	// Limits are of each connection. The default of MaxAppend, how large a message may be that is sent over a stream, is [mcp.DefaultMaxSend], or MaxFrame if that is less; a
	// result that is larger becomes an error.
	Limits   rpc.Limits
	PageSize int // items in one answer to a request for a list; 0: 1000
	// MaxSubscriptions is how many subscriptions/listen streams one connection may have open; 0: 1024.
	MaxSubscriptions int
	// Tools says how operations are projected as tools; the default is one for each.
	Tools Projection
	// TrustClients runs destructive operations without asking: for clients that ask their users before they call tools with destructiveHint, and
	// where nobody could. Otherwise the client's user is asked by elicitation, and a client that cannot do that gets confirmation_required.
	TrustClients bool
	// Extensions are declared to clients of both eras, each with its settings, an object
	// (SEP-2133). Their names have a prefix, such as com.example/name; New panics otherwise.
	Extensions map[string]json.RawMessage
	// Capabilities, if set, changes what the server declares before a client is told: to declare less, for who stands for another server. What it answers stays the same.
	Capabilities func(*mcp.ServerCapabilities)
	// Visible says what the client of a request may see, and so use; nil: everything. It must be quick, and is asked for each item of a list and each
	// use. Lists are then never public.
	Visible func(ctx context.Context, kind Kind, key string) bool
	// Memory bounds the bytes of requests and answers, of all clients together, that wait to be
	// handled or read, and what handlers ask for with [dispatch.Reserve]; nil: 256 MiB. A principal
	// has a share of it, see package quota. It may be the pool of other handlers, too.
	Memory *quota.Pool
	// MaxWatched is how many resources a client may subscribe to, for each subscription; 0: 1024.
	MaxWatched int
	// Tasks are the settings of tasks.
	Tasks TaskOptions
	// StateKey is the secret that seals what modern clients carry for the server from one request to the next, 32 random bytes or more. Servers
	// that stand in for each other share it; nil: a random one.
	StateKey []byte
	// ListTTL is how long a modern client may keep lists without asking again; 0: not at all.
	ListTTL time.Duration
	// PublicLists lets shared caches keep lists, which are otherwise the private matter of each client.
	PublicLists bool
	// Middleware wraps the handling of every message that comes in, and Outgoing the sending of every request and notification that goes out; the first
	// is the outermost. The handler that outgoing middleware wraps sends, and returns the client's result. Use [PrincipalFrom] for who the client is.
	Middleware, Outgoing []rpc.Middleware
	// Hooks see the traffic of every connection.
	Hooks rpc.Hooks
}

// A Server answers MCP clients, any number of them at once, out of one catalog. All its methods are safe for concurrent use.
type Server struct {
	o              Options
	info           json.RawMessage // Info, encoded
	modernSuffix   []byte          // see there
	sealer         sealer
	catalog        *dispatch.Catalog
	dispatcher     *dispatch.Dispatcher
	log            *slog.Logger
	closedAccount  *quota.Account // holds nothing, and never will
	handler        rpc.Handler
	tools          atomic.Pointer[tools]
	headers        atomic.Pointer[toolHeaders]
	addedTools     collection[*tool]
	resources      collection[*Resource]
	templates      templates
	prompts        collection[*Prompt]
	completions    atomic.Bool // something of these does
	tasks          tasks
	unlistedReader atomic.Pointer[unlistedReader]
	missingAwaiter atomic.Pointer[missingAwaiter]

	mu                    sync.Mutex
	conns                 map[*Conn]struct{}
	subscriptionObservers []*func() // see OnWatch
	stopCatalogWatch      func()    // stops watching the catalog, while there are connections
	clientEvents          clientEvents
	deferrals             int // see Hold
	deferred              map[changeNotification]struct{}
}

// New returns a server of the operations that catalog has at the time of each request, with default
// options. A nil catalog is an empty one.
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
		o.Limits.MaxAppend = min(mcp.DefaultMaxSend, cmp.Or(max(o.Limits.MaxFrame, 0), mcp.DefaultMaxSend))
	}
	o.PublicLists = o.PublicLists && o.Visible == nil
	if o.Memory == nil {
		o.Memory = quota.NewPool(256 << 20)
	}
	o.Logger = contain.Logger(o.Logger)
	if o.Dispatch.Logger == nil {
		o.Dispatch.Logger = o.Logger
	}
	encoded, err := mcp.Marshal(info)
	if err != nil {
		panic("server: the Info cannot be encoded: " + err.Error()) // only a foreign field can be broken
	}
	s := &Server{
		o: o, info: encoded, modernSuffix: modernSuffix(encoded), sealer: newSealer(o.StateKey), catalog: catalog, dispatcher: dispatch.NewDispatcher(catalog, o.Dispatch),
		log: o.Logger, conns: make(map[*Conn]struct{}), deferred: make(map[changeNotification]struct{}),
	}
	for id := range o.Extensions {
		if err := mcp.CheckExtensionID(id); err != nil {
			panic("server: the Extensions: " + err.Error())
		}
	}
	s.closedAccount = o.Memory.Open("")
	s.closedAccount.Close()
	s.tasks.init(o.Tasks)
	if _, err := mcp.Marshal(s.capabilities(&era{modern: true, revision: mcp.Latest})); err != nil {
		panic("server: the Extensions cannot be encoded: " + err.Error())
	}
	s.handler = rpc.Chain(s.handle, o.Middleware...)
	return s
}

// runCallback runs a callback of the application apart from what it is called for.
func (s *Server) runCallback(name string, f func()) {
	if failure := contain.Run(f); failure != nil {
		s.log.Error("a callback did not return", "callback", name, "error", failure, "stack", string(failure.Stack))
	}
}

// addConn and leave keep the connections, and watch the catalog as long as there are any.
func (s *Server) addConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	if s.stopCatalogWatch == nil {
		s.stopCatalogWatch = s.catalog.OnChange(func() { s.notifyChange(changeNotification{method: mcp.NotificationToolListChanged}) })
	}
}

func (s *Server) removeConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 && s.stopCatalogWatch != nil {
		s.stopCatalogWatch()
		s.stopCatalogWatch = nil
	}
}
