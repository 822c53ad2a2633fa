// Package gateway offers the tools, prompts and resources of many MCP servers as one server.
// Clients and servers of either era work together, and servers can ask a client's user questions.
//
//	s := server.New(server.Info{Name: "all", Version: "1"}, catalog)
//	g := gateway.New(s)
//	defer g.Close()
//	err := g.Add(host.Server{ID: "files", Connect: …})
//	err = s.ServeStdio(ctx)
//
// # The flow of a call
//
//	client ── tools/call files__read ──▶ downstream server
//	                                          │ look up the public name
//	                                          ▼
//	              limit of arguments ▶ Options.Before ▶ session or shared process
//	                                          │ start the server if necessary
//	                                          ▼
//	                                   upstream server "files", tool "read"
//	                                          │ progress, logs, questions go back meanwhile
//	                                          ▼
//	client ◀── result ── audit log ◀ Options.After ◀ limit of the result
//
// # Limits
//
//	arguments, result of a call    8 MiB each (host.Server.MaxArguments, MaxResult)
//	call without progress          10 min (client.Options.CallTimeout)
//	wait for a restarting server   5 s
//	start and lists of a server    2 min
//	in-flight calls with questions 10,000, shared by principal; 10 min without their client
//	ambiguous question             5 s, then refused
//	roots                          10,000 per server; 5 s wait for a client
//	log messages per client        256 or 1 MiB per server, then the oldest are dropped
//	audit lines not yet written    4 MiB, then lines are dropped and counted
//
// # Names
//
// A tool or prompt is called by its server's ID and its name, "files__read" (see
// [host.PublicName]), and its description begins with "[files] ". Resources keep their URIs. The
// gateway looks names up in a table and never parses them.
//
// A name or URI that several servers have belongs to the first of them in the order of
// [Gateway.Add], or of [Gateway.Order], even while that server is slow or down. A URI also belongs
// to a server with a template that matches it: such a template collides with the resources, and
// with the overlapping templates, of later servers. Colliding items are withheld from every list;
// [Gateway.Withheld] and the log name them. Where two templates have only some URIs in common, both
// are offered, and the first server answers for the common ones.
//
// Resources and templates are therefore offered only when all servers ahead have been listed for
// the first time or could not be started; without prefixes, tools and prompts too. Names in cached
// lists are reserved from the beginning. A disabled or removed server loses its names.
//
// A URI is read at the first server that lists it or a template for it. A URI that no server lists
// is tried, in order, at those with other URIs of its scheme.
//
// Definitions are forwarded byte by byte, with two repairs of what strict clients refuse a whole
// list for: null in an optional member is removed, and the inputSchema of a tool gets the type
// "object". Other invalid definitions are left out and logged. Legacy clients do not get members
// that their revision lacks: see [server.RawTool].
//
// With [Gateway.Offer], more downstream servers offer all or some of the upstream servers, from the
// same processes: one for each group of clients, for example.
//
// # Pins
//
// With Options.Pins, a tool, prompt, resource or template that has changed since its first use is
// withheld until the change is accepted; a changed resource, and what a changed template matches,
// cannot be read either. An item that its server did not have at first use is not listed until it
// is accepted. A new resource can be read, because servers may serve unlisted resources anyway.
//
// # Calls
//
// Arguments and results are forwarded byte by byte, except structured content that is not an
// object, which legacy clients do not get. Progress, cancellation and the trace context are
// forwarded too. A call fails when its server dies; the gateway repeats it only if the tool is
// declared idempotent or read-only.
//
// Items stay in the lists while their server is down. A call waits if the server restarts within
// 5 s and within the call's deadline; otherwise the error says when it restarts. A server that has
// failed too often is started by the next call: see package host. A call of an unknown name waits
// for servers that are still starting for the first time and may have it; if such a server cannot
// be started, the error says why.
//
// # Questions
//
// A question of a modern server within a call becomes a question within the client's call, and the
// gateway keeps no state. A legacy server asks while its call is in flight: if the client is
// modern, its request ends with the question, the server's call continues, and the client's next
// request, with the answer, resumes it, within 10 minutes and only from the same client.
//
// A legacy server does not say which call it asks for. If a modern client has two calls under way,
// or several clients have requests, the question waits for the others to end, and is refused and
// logged after 5 s; a legacy client is asked at once. Set host.Server.PerSession for servers that
// ask questions.
//
// # Roots
//
// A roots/list request within a call goes to the call's client; for a client without roots the
// gateway answers with an empty list. Outside of calls a legacy server gets the roots of all
// connected legacy clients, without duplicates, in order of connection. Each client is asked once,
// until it reports a change; servers are notified of that and of clients that connect or
// disconnect. A server waits 5 s for clients that do not answer.
//
// # Logs
//
// A server's log message goes to the client whose requests are under way, if it wants messages of
// that level: by logging/setLevel or, for a modern client, by its request's _meta. If several
// clients have requests at a shared server, the message is dropped. Messages outside of requests go
// to all legacy clients that want them. The logger's name begins with the server's ID, "files/db".
// A server's level is the most verbose that one of its clients wants. For a client that does not
// keep up, 256 messages or 1 MiB per server are queued; then the oldest are dropped, and the client
// is sent their number.
//
// # Sessions
//
// With host.Server.PerSession each client has a process of the server to itself: each connection,
// and each legacy session over HTTP, until it ends. Modern clients over HTTP and callers of
// operations have no session: such a server's items are not in their lists, and their calls fail
// with [ErrNoSession]. The server sees the roots of its client only, and only that client gets its
// logs. One more process without a client serves the lists and their changes.
//
// # Operations
//
// With Options.Catalog the tools are operations as well, "files.read" (see [host.OperationName]),
// for surfaces other than MCP. They follow the tool lists, and their calls take the same path. The
// input schema is the tool's; if it does not compile, only the server checks the arguments. A
// read-only tool has the kind read, one with destructiveHint true the kind destructive, any other
// the kind write; a tool without destructiveHint has to be confirmed too, as MCP's default is true.
//
// The data of a call is the result's structured content, or else its content. A result that
// contains more is the envelope's original. The errors are upstream_error (isError, with the result
// as details; or the server refuses, is dead, or cannot be started), not_found, state_error
// (disabled), not_implemented (a question), blocked (by a limit or an interceptor), timeout and
// cancelled. OnElicit of the host.Server's Options answers questions; otherwise they are refused.
//
// # Control
//
// Arguments and results over host.Server.MaxArguments and MaxResult are refused. Options.Before and
// After inspect each tool call, change it or refuse it. Options.Audit gets a JSON line for each
// tools/call, resources/read and prompts/get when it ends:
//
//	{"time":"2026-01-31T12:00:00.000Z","principal":"ada","server":"files","tool":"read",
//	 "arguments":[{"name":"path","type":"string","size":7}],"arguments_size":16,
//	 "arguments_hmac":"…","duration_ms":1.25,"outcome":"ok","result_size":120}
//
// The line describes the first 64 arguments as sent to the server, or as they would have been,
// without values. The digest, HMAC-SHA-256 with Options.AuditKey of the canonical JSON, identifies
// equal arguments without revealing them to a dictionary attack; arguments with a duplicate member
// have none. The outcome is ok, tool_error, error (with its code), refused (with refused_by: limit,
// before or after), cancelled, or input_required: the client was asked a question, and its answer
// adds another line, with "resumed":true. Lost lines are counted in a line with "dropped".
package gateway

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/server"
)

// Options are the settings of a [Gateway]. The zero value is ready for use.
type Options struct {
	// MaxName limits the length of tool names; 0 is [host.DefaultMaxName].
	MaxName int
	// NoPrefix keeps the servers' own names of tools and prompts, whatever MaxName is. Where two
	// servers have the same name, the first in order offers it.
	NoPrefix bool
	// NoDescriptionPrefix keeps descriptions unchanged.
	NoDescriptionPrefix bool
	// Remember, if set, is a directory that caches the lists of servers with a Digest. The next
	// gateway offers cached lists at once and starts a server only when it is used.
	Remember string
	// Pins, if set, remember what tools, prompts, resources and templates looked like when they
	// were first used, or came within 10 s of that. What is another now, or new to a server that is
	// known, is withheld until it is accepted with [pin.Lock.Accept], and [Gateway.Recheck] or the
	// next list of the server has seen that. With PinsWarn it is offered, and the log told.
	Pins     *pin.Lock
	PinsWarn bool
	// Before runs before each tool call, and After on its result, unless that is an error or a
	// question. Each interceptor sees the changes of those ahead of it.
	Before, After []Interceptor
	// Audit, if set, gets a line for each call: see above. No call waits for it, and its errors
	// fail no call. A Write that never returns leaks a goroutine.
	Audit io.Writer
	// AuditValues adds the arguments themselves to the audit log.
	AuditValues bool
	// AuditKey is the HMAC key of the digests in the audit log: 32 random bytes, secret. If it is
	// nil, each gateway generates one, and digests of different gateways do not match.
	AuditKey []byte
	// Catalog, if set, receives the tools as operations, for a command line or an HTTP API: see
	// above. [Gateway.AwaitOperation] is for its dispatcher. It must not be the catalog of the
	// gateway's own server, which has the tools already.
	Catalog *dispatch.Catalog
	// Logger logs tools that are left out, failures to write the audit log, and questions and log
	// messages that cannot be forwarded; nil is slog.Default(). The servers' own log messages do
	// not go there.
	Logger *slog.Logger
}

// A Gateway offers the tools, prompts, resources and templates of upstream servers. Its methods are
// safe for concurrent use.
type Gateway struct {
	o                    Options
	manager              *host.Manager
	inflight             inflightCalls
	requests             activeRequests
	sessions             sessions
	clients              legacyClients
	legacyServers        legacyServers
	audit                *auditLog // nil without an audit log
	ctx                  context.Context
	cancel               context.CancelFunc
	wg                   sync.WaitGroup
	subscriptionsChanged chan struct{} // capacity 1
	downstreamMu         sync.Mutex    // serializes changes of downstreams; locked before offerMu
	// serializes changes of the offered lists and of names; locked before mu
	offerMu  sync.Mutex
	names    *nameTable
	warnings []pendingWarning // guarded by offerMu

	mu          sync.Mutex
	closed      bool
	downstreams []*downstream // replaced, never modified
	upstreams   map[string]*upstreamServer
}

// New returns a gateway without servers that offers their lists at s. If s is nil, only
// [Gateway.Offer] says where they are offered.
func New(s *server.Server) *Gateway { return Options{}.New(s) }

// New is [New] with options.
func (o Options) New(s *server.Server) *Gateway {
	o.MaxName = cmp.Or(o.MaxName, host.DefaultMaxName)
	o.Logger = contain.Logger(o.Logger)
	g := &Gateway{o: o, upstreams: make(map[string]*upstreamServer), names: newNameTable()}
	g.manager = host.NewManager(g.stateChanged)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.subscriptionsChanged = make(chan struct{}, 1)
	if o.Audit != nil {
		g.audit = newAuditLog(o.Audit, o.AuditValues, o.AuditKey, o.Logger)
	}
	g.wg.Go(g.distributeSubscriptions)
	if s != nil {
		s.Integration().Declare(server.KindResource, server.KindTemplate, server.KindPrompt)
		g.setDownstream(&downstream{server: s, all: true})
	}
	return g
}

// Manager returns the manager of the servers, to ask for their status and to enable, disable and
// restart them. Servers must be added and removed through the gateway.
func (g *Gateway) Manager() *host.Manager { return g.manager }

// Add adds a server. It does not block: the server is started, and its lists are offered as soon as
// it returns them. If they are cached, they are offered at once, and the server is started on first
// use. The gateway sets OnRawLog and the change callbacks of the server's Options, and OnElicit,
// OnSample and OnRoots unless they are set. The error is that of [host.Manager.Add].
//
// A server with the same ID is replaced: Add blocks until it has ended, its items are withdrawn,
// and its calls fail.
func (g *Gateway) Add(s host.Server) error {
	old := g.removeUpstream(s.ID)
	s.Options.CallTimeout = cmp.Or(s.Options.CallTimeout, callTimeout)
	m := g.newUpstream(&s)
	if connect := s.Connect; connect != nil {
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			g.setQuestionHandlers(&o, s.ID, session)
			m.setRootsHandler(&o, session)
			if session == "" { // what a client's own server has by now is nobody else's concern
				m.setChangeHandlers(&o)
			}
			return m.connect(ctx, session, o, connect)
		}
	}
	err := g.manager.Add(s)
	if err == nil { // before the old one gives up what it had: nobody else is to have it meanwhile
		g.names.addServer(s.ID)
	}
	if old != nil {
		old.withdraw()
	}
	if err != nil {
		m.cancel()
		g.manager.Remove(s.ID)
		g.names.removeServer(s.ID)
		g.serverListed(s.ID)
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		m.cancel()
		return host.ErrClosed
	}
	g.upstreams[s.ID] = m
	g.wg.Go(m.run)
	return nil
}

// Order puts these servers first, in this order, which decides which server owns a name or URI that
// several have. The others follow in the order in which they were added. An ID may be ordered
// before its server is added.
func (g *Gateway) Order(ids ...string) {
	defer g.lockOffers()()
	g.names.setOrder(ids)
	g.updateOffers(g.allUpstreams())
}

// Settle blocks until every added server has been listed or could not be started, or until ctx
// ends. It is for clients that list only once.
func (g *Gateway) Settle(ctx context.Context) {
	g.mu.Lock()
	mounts := slices.Collect(maps.Values(g.upstreams))
	g.mu.Unlock()
	for _, m := range mounts {
		select {
		case <-m.listedOnce:
		case <-m.done:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh starts a server unless it is running, and blocks until its current lists are offered or
// ctx ends. The errors are those of [host.Manager.Use] and of the server's lists, or
// [host.ErrClosed] if the server is removed meanwhile.
func (g *Gateway) Refresh(ctx context.Context, id string) error {
	g.mu.Lock()
	m := g.upstreams[id]
	g.mu.Unlock()
	if m == nil {
		return fmt.Errorf("server %q: %w", id, host.ErrUnknown)
	}
	asked, done := m.refreshes, make(chan error, 1)
	for {
		select {
		case asked <- done:
			asked = nil
		case err := <-done:
			if err != nil && m.ctx.Err() != nil {
				return host.ErrClosed
			}
			return err
		case <-m.done:
			return host.ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Remove removes a server and its items, and blocks until the server has ended. It reports false if
// there is no such server.
func (g *Gateway) Remove(id string) bool {
	m := g.removeUpstream(id)
	if m == nil {
		return false
	}
	g.manager.Remove(id)
	m.withdraw()
	g.names.removeServer(id)
	g.serverListed(id)
	return true
}

// removeUpstream stops the goroutine of a server and returns the server, or nil if there is none.
// The caller withdraws its items.
func (g *Gateway) removeUpstream(id string) *upstreamServer {
	g.mu.Lock()
	m := g.upstreams[id]
	delete(g.upstreams, id)
	g.mu.Unlock()
	if m != nil {
		m.cancel()
		<-m.done
	}
	return m
}

// Tools returns the number of offered tools of each server that offers any.
func (g *Gateway) Tools() map[string]int {
	all := map[string]int{}
	for _, m := range g.allUpstreams() {
		if n := m.tools.count(); n > 0 {
			all[m.id] = n
		}
	}
	return all
}

func (g *Gateway) allUpstreams() []*upstreamServer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.upstreams))
}

// upstreamsByID returns the servers with these IDs, each once.
func (g *Gateway) upstreamsByID(ids []string) []*upstreamServer {
	return slices.DeleteFunc(g.allUpstreams(),
		func(m *upstreamServer) bool { return !slices.Contains(ids, m.id) })
}

// stateChanged updates the lists of a server that was started, enabled or disabled.
func (g *Gateway) stateChanged(s host.Status) {
	g.mu.Lock()
	m := g.upstreams[s.ID]
	g.mu.Unlock()
	if m == nil || s.Session != "" {
		return
	}
	switch s.State {
	case host.Ready:
		m.disabled.Store(false)
	case host.Disabled:
		m.disabled.Store(true)
	case host.Stopped:
		if !m.disabled.CompareAndSwap(true, false) { // else it is enabled again
			return // it comes back when it is wanted
		}
	default: // what it has stays in the lists while it is down
		return
	}
	m.notify()
}

// notifySubscriptions wakes distributeSubscriptions. It does not block.
func (g *Gateway) notifySubscriptions() {
	select {
	case g.subscriptionsChanged <- struct{}{}:
	default:
	}
}

// A pendingWarning is logged when offerMu is released.
type pendingWarning struct {
	message string
	attrs   []any
}

// lockOffers locks offerMu; done unlocks it and logs the warnings.
func (g *Gateway) lockOffers() (done func()) {
	g.offerMu.Lock()
	return func() {
		notes := g.warnings
		g.warnings = nil
		g.offerMu.Unlock()
		for _, n := range notes {
			g.o.Logger.Warn(n.message, n.attrs...)
		}
	}
}

// warnLater logs a warning when offerMu is released. The caller holds offerMu.
func (g *Gateway) warnLater(message string, attrs ...any) {
	g.warnings = append(g.warnings, pendingWarning{message, attrs})
}

// updateOffers brings the downstream lists of these servers up to date. The caller holds offerMu.
func (g *Gateway) updateOffers(mounts []*upstreamServer) {
	for _, f := range g.allDownstreams() {
		defer f.server.Integration().DeferListChanged()()
	}
	for _, m := range mounts { // first: what one gives up another may get
		for _, s := range m.lists {
			s.removeStale()
		}
	}
	for _, m := range mounts {
		for _, s := range m.lists {
			s.addMissing()
		}
	}
	g.notifySubscriptions()
}

// serverListed records that a server was listed, or could not be, and offers the items that waited
// for it.
func (g *Gateway) serverListed(id string) {
	defer g.lockOffers()()
	g.names.setListed(id)
	g.updateOffers(slices.DeleteFunc(g.allUpstreams(),
		func(m *upstreamServer) bool { return !m.isWaiting() }))
}

// Close ends all servers and withdraws their items. It blocks until they have ended, and up to 5 s
// more until the audit log is written. The log misses calls that end later, so stop serving clients
// before Close.
func (g *Gateway) Close() {
	g.downstreamMu.Lock()
	defer g.downstreamMu.Unlock()
	for _, f := range g.allDownstreams() {
		f.stopClientEvents()
	}
	g.mu.Lock()
	g.closed = true
	mounts := g.upstreams
	g.upstreams = make(map[string]*upstreamServer)
	g.mu.Unlock()
	for _, f := range g.allDownstreams() {
		f.detach()
	}
	g.cancel()
	g.clients.end()
	g.manager.Close()
	g.wg.Wait()
	g.inflight.wait()
	for _, m := range mounts {
		m.withdraw()
	}
	if g.audit != nil {
		g.audit.close()
	}
}

// callTimeout is the default limit of a call without progress. It exceeds a client's own, so that
// the client times out first.
const callTimeout = 10 * time.Minute

// listTimeout limits the start of a server and the fetch of its lists.
const listTimeout = 2 * time.Minute
