package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/results"
	"github.com/stdwire/stdwire/server/internal/sealed"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
)

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
	s.tasks.replica = s.taskReplica()
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

// newProviders returns the providers of each kind. If several have an item, the first one counts.
func (s *Server) newProviders() map[mcp.Kind][]provider {
	return map[mcp.Kind][]provider{
		mcp.KindTool:   {toolProvider{s}},
		mcp.KindPrompt: {&s.prompts, own{s}},
		mcp.KindResource: {skillFiles{skills: &s.skills}, &s.resources,
			templateMatches{templates: &s.templates}, skillFiles{skills: &s.skills, dynamic: true},
			own{s}, computed{s}},
		mcp.KindResourceTemplate: {&s.templates, own{s}, computed{s}},
		mcp.KindSkill:            {&s.skills},
	}
}

// ServeStdio serves one client on standard input and output, until the client closes its end, ctx
// ends, or the process gets SIGINT or SIGTERM. It returns the error of [Server.Serve]. Call it at
// most once, because it keeps both streams. Afterwards, output of the program or a child process to
// standard output goes to standard error, where the system supports that, so that it cannot break
// the protocol.
func (s *Server) ServeStdio(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := s.Serve(ctx, rpc.Stdio())
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	return errors.Join(err, s.Close(grace))
}

// drainTimeout is how long calls may continue after the client has closed its end, and on shutdown.
// Clients wait about two seconds before they send SIGTERM.
const drainTimeout = 1500 * time.Millisecond

// abandonTimeout is how long calls may continue after their context has ended, before Serve returns
// without waiting for them.
const abandonTimeout = 3 * time.Second

// Serve serves one client on stream, until the client closes it or ctx ends. Then it lets calls in
// progress finish for up to 1.5 s, or [Options].ShutdownTimeout if ctx ends, answers the rest with
// an error with the code [rpc.CodeBusy], and returns when all its goroutines have ended. It returns
// nil if the client has closed the stream between two messages or ctx has ended, and otherwise the
// error that ended the connection. It also returns an error if an operation still runs 3 s after
// its context has ended. The client chooses the framing, newline or Content-Length, with its first
// bytes. Closing stream must end a blocked Read.
func (s *Server) Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	principal, _ := ctx.Value(contextkey.Principal{}).(string)
	c := s.Integration().NewConn(context.WithoutCancel(ctx), ConnOptions{Principal: principal})
	defer c.Close()
	peer := rpc.Options{
		Handler:      s.handler,
		Framing:      framing.Auto,
		Limits:       s.o.Limits,
		Cancellation: mcp.Cancellation(),
		Ordered:      func(method string) bool { return method == mcp.MethodInitialize },
		Drain:        drainTimeout,
		Hooks:        s.o.Hooks,
		Context:      &connContext{c.ctx, c, nil}, // of all requests; each has its peer
	}.New(stream)
	select {
	case <-peer.Closed():
	case <-ctx.Done():
		c.Finish()
		grace, cancel := context.WithTimeout(c.ctx, cmp.Or(s.o.ShutdownTimeout, drainTimeout))
		defer cancel()
		_ = peer.Shutdown(grace) // after grace, it cancels the calls and closes the connection
	}
	select {
	case <-peer.Done():
	case <-time.After(abandonTimeout):
		return errors.New("server: calls still run after their context has ended: return when ctx is done")
	}
	if err := peer.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// A scannedRequest is a request whose params are read before middleware gets it. It is also the
// context for the middleware.
type scannedRequest struct {
	context.Context
	request request
	err     error // the error of request.open
	raw     json.RawMessage
	used    atomic.Bool // a call of handle uses request; middleware may call handle again
}

type scannedKey struct{}

func (s *scannedRequest) Value(key any) any {
	switch key.(type) {
	case scannedKey, contextkey.RequestParams:
		return s
	case contextkey.Connection:
		return s.request.conn
	}
	return s.Context.Value(key)
}

// Of implements requestParams of package telemetry.
func (s *scannedRequest) Of(params json.RawMessage) bool {
	return jsonscan.Same(params, s.raw)
}

// Param implements requestParams of package telemetry.
func (s *scannedRequest) Param(name string) json.RawMessage {
	return s.request.params.Get([]byte(name))
}

// MetaValue implements requestParams of package telemetry.
func (s *scannedRequest) MetaValue(key string) json.RawMessage {
	if value := s.request.params.Meta.Member([]byte(key)); value != nil {
		return *value
	}
	return nil
}

// scan returns a handler that reads the params of each request once, both for next, which is
// middleware, and for handle.
func scan(next rpc.Handler) rpc.Handler {
	return func(ctx context.Context, req *rpc.Request) (any, error) {
		if req.IsNotification() {
			return next(ctx, req)
		}
		s := &scannedRequest{Context: ctx}
		s.err = s.request.open(ctx, req)
		s.raw = s.request.Params
		return next(s, s.request.Request)
	}
}

// handle is the [rpc.Handler] of all connections, inside of Options.Middleware. The flow of a
// tools/call is:
//
//	Server.handle
//	  Server.request            serve.go: finds the members of params
//	  era.Classify              internal/era: determines the era
//	  request.row               methods.go: finds the method
//	  request.repeat            mrtr.go: runs it, again if a legacy client has answered
//	    callTool                tools.go: answers in the request, or by taskcall.go in a task
//	      request.find          itemrequest.go: asks the providers for the item
//	      request.use           itemrequest.go: runs it within Options.Interceptors
//	        operationTool.use   tools.go: has dispatch.Dispatcher run the operation
//	          request.toolResult  result.go: makes its envelope the result
//
// The result is encoded when it is sent. A raw tool has a function of rawtool.go in place of
// operationTool.use, and an item of another server one of forwarded.go. The flow of prompts/get and
// resources/read is the same.
func (s *Server) handle(ctx context.Context, req *rpc.Request) (any, error) {
	if req.IsNotification() {
		s.handleNotification(ctx, req)
		return nil, nil
	}
	r, err := s.request(ctx, req)
	defer r.close()
	if err != nil {
		return nil, err
	}
	if r.era, err = era.Classify(r.Method, &r.params.Meta, r.conn.legacy.Load()); err != nil {
		return nil, err
	}
	r.conn.setViewer(r)
	row, err := r.row()
	if err != nil {
		return nil, err
	}
	r.beginProgress()
	defer r.progress.End()
	result, err := r.repeat(row.handle)
	if err != nil {
		return nil, r.modernError(err)
	}
	return result, nil
}

// request returns the request for a call of handle. It fails if the params are invalid.
func (s *Server) request(ctx context.Context, req *rpc.Request) (*request, error) {
	var scanned *scannedRequest
	if len(s.o.Middleware) > 0 {
		scanned, _ = ctx.Value(scannedKey{}).(*scannedRequest)
	}
	if scanned != nil && scanned.Of(req.Params) && scanned.used.CompareAndSwap(false, true) {
		scanned.request.Context, scanned.request.Request = ctx, req
		return &scanned.request, scanned.err
	}
	r := new(request)
	err := r.open(ctx, req)
	if scanned != nil {
		// middleware may have changed the params, but not by which tool the client calls
		r.through, r.refused, r.finds = scanned.request.through, scanned.request.refused,
			scanned.request.finds
	}
	return r, err
}

// open initializes r for a message with the context ctx, and reads its params.
func (r *request) open(ctx context.Context, req *rpc.Request) error {
	from, _ := ctx.Value(connKey{}).(*connContext)
	r.Context, r.Request, r.conn, r.link = ctx, req, from.conn, from.link
	if r.link == nil {
		r.link = outgoing.None{}
		if peer := req.Peer(); peer != nil {
			r.link = r.conn.server.wrapLink(peer)
		}
	}
	if err := r.params.Read(r.Params); err != nil {
		return err
	}
	return r.unwrap()
}

// handleNotification handles the notifications of MCP and of extensions, and ignores others.
func (s *Server) handleNotification(ctx context.Context, req *rpc.Request) {
	from, _ := ctx.Value(connKey{}).(*connContext)
	if handle, ok := notifications[req.Method]; ok {
		handle(from.conn, req)
	} else {
		s.notifyExtension(ctx, from.conn, from.link, req)
	}
}
