package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/clientevents"
	"github.com/stdwire/stdwire/server/internal/results"
	"github.com/stdwire/stdwire/server/internal/sealed"
	"github.com/stdwire/stdwire/server/internal/skillindex"
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

// A ResourceSource computes resources and templates when a client asks for them: for example the
// files of a directory or the rows of a table. Its functions must be safe for concurrent use. They
// get the context of the request, from which [dispatch.PrincipalFrom] returns the caller.
type ResourceSource struct {
	// List returns the resources to list, and ListTemplates the templates, in any order. The server
	// splits them into pages, so both are called for each page. An entry with an invalid URI, or
	// without a name, is logged and left out. If a resource or template with the same key was added
	// to the server, that one takes precedence. The error follows the rules of [Resource].Read. A
	// nil function lists nothing.
	List          func(ctx context.Context) ([]mcp.Resource, error)
	ListTemplates func(ctx context.Context) ([]mcp.ResourceTemplate, error)

	// Read is like [Resource].Read. It is called for each URI that belongs to no resource or
	// template of the server, whether List returns it or not, and must return [ResourceNotFound]
	// for a URI that does not exist. It is required.
	Read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)
}

// A Projection selects how operations become tools.
type Projection int

const (
	// ToolPerOperation makes a tool of each operation, with the operation's arguments: fs.read
	// becomes fs_read.
	ToolPerOperation Projection = iota
	// ToolPerService makes a tool of each service, which is the part of an operation's name before
	// the first dot. The tool has two arguments: "action" is the rest of the operation's name, and
	// "params" are the arguments of the operation. The additional actions help and schema describe
	// the others, unless the service has operations with these names. An operation without a dot in
	// its name becomes its own tool.
	ToolPerService
)

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

// An Integration has the methods of a [Server] for transports and gateways; applications do not
// need them.
//
// A transport that receives messages one by one, such as package streamable, makes a [Conn] for
// each client by NewConn or Stateless and passes messages to [Conn.Handle]. If several servers
// offer the same to its clients, it passes on by Announce what OnChange tells.
//
// A gateway, such as package client/host/gateway, offers the items of other servers by AddItem,
// Declare and SetUpstreams. It follows its own clients by OnClientEvent and SubscribedResources,
// and tells them by ListsChanged that they may see something else.
//
// All its methods are safe for concurrent use. Callbacks may block and may call the server: none is
// called with a lock held. A panic in a callback is logged and recovered.
type Integration struct{ s *Server }

// Integration returns the methods for transports and gateways.
func (s *Server) Integration() Integration { return Integration{s} }

// Options returns the options of the server, with the defaults of those that are zero. A transport
// opens an account in the pool of Memory for each principal. It calls the hooks that
// [rpc.Hooks.Safe] returns for each message, unless an [rpc.Peer] does. Hooks.Panic is not nil and
// logs panics already: these Hooks must not be given to another server, which would log them again.
func (i Integration) Options() Options { return i.s.o }

// runCallback calls a callback of the application, and logs it if it panics.
func (s *Server) runCallback(name string, f func()) {
	if failure := contain.Run(f); failure != nil {
		s.log.Error("a callback did not return", "callback", name, "error", failure, "stack",
			string(failure.Stack))
	}
}

// declaredKinds returns the kinds of items that the server has or has had.
func (s *Server) declaredKinds() declaredKinds {
	return declaredKinds{
		tools: true,
		resources: s.resources.EverUsed.Load() || s.templates.EverUsed.Load() ||
			s.skills.EverUsed.Load(), // the files are resources
		prompts:     s.prompts.EverUsed.Load(),
		completions: s.completions.Load(),
		tasks:       s.tasks.enabled.Load(),
		apps:        s.apps.used.Load(),
		skills:      s.skills.EverUsed.Load(),
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

// tools holds all tools of a server. The value is replaced when the catalog, the added tools or the
// apps change.
type tools struct {
	operations []*dispatch.Operation // of the catalog when this value was made
	raw        *listing
	apps       *map[string]mcp.ToolUI
	*listing

	mu      sync.RWMutex
	headers map[string][]paramheader.Param // by the names of tools; see Server.headerParams
}

// templates holds the resource templates, and a set that matches URIs with them.
type templates struct {
	collection
	set atomic.Pointer[templateSet]
}

// resource returns the resource with a URI that matches a template, or nil.
func (t *templates) resource(uri string) *item {
	l := t.Listing()
	set := t.set.Load()
	if set == nil || set.of != l {
		set = newTemplateSet(l)
		t.set.Store(set)
	}
	return set.resource(uri)
}

// skills holds the skills of a server.
type skills struct {
	collection
	indexed atomic.Pointer[skillIndex]
	sources skillSources
}

// A skillIndex is the index of the skills in a listing.
type skillIndex struct {
	*skillindex.Index
	of *listing
}

func (s *skills) index() *skillIndex {
	l := s.Listing()
	if x := s.indexed.Load(); x != nil && x.of == l {
		return x
	}
	all := make([]*mcp.Skill, 0, len(l.Sorted))
	for _, i := range l.Sorted {
		all = append(all, &i.skill.Skill)
	}
	x := &skillIndex{skillindex.New(all), l}
	s.indexed.Store(x)
	return x
}

// skillSources holds the file systems of AddSkills.
type skillSources struct {
	mu  sync.Mutex // serializes all changes
	all []*skillindex.Source
}

// has reports whether a file system has a skill. The caller holds mu.
func (all *skillSources) has(uri string) bool {
	return slices.ContainsFunc(all.all, func(source *skillindex.Source) bool {
		return source.Tree.Load().Skill(uri) != nil
	})
}

// apps are the apps of a server.
type apps struct {
	used  atomic.Bool // an app was added once, or apps of other servers are forwarded
	mu    sync.Mutex
	tools atomic.Pointer[map[string]mcp.ToolUI] // by name of the tool; never nil nor modified
}

// toolsWithout returns a copy of the tools without those of an app. The caller holds mu.
func (a *apps) toolsWithout(uri string) map[string]mcp.ToolUI {
	tools := maps.Clone(*a.tools.Load())
	maps.DeleteFunc(tools, func(_ string, ui mcp.ToolUI) bool { return ui.ResourceURI == uri })
	return tools
}

// has reports whether the server itself has an app with this URI.
func (a *apps) has(uri string) bool {
	for _, ui := range *a.tools.Load() {
		if ui.ResourceURI == uri {
			return true
		}
	}
	return false
}
