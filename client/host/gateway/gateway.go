// Package gateway offers what many MCP servers have as one server: a client of either era uses the tools of servers of either era, and its user answers their questions.
//
//	s := server.New(server.Info{Name: "all", Version: "1"}, catalog)
//	g := gateway.New(s)
//	defer g.Close()
//	err := g.Add(host.Server{ID: "files", Connect: …})
//	err = s.ServeStdio(ctx)
//
// # Names
//
// A tool or prompt is called by its server's ID and its name, "files__read" (see
// [host.PublicName]), and its description begins with "[files] ". Resources keep their URIs. What a
// name stands for is looked up; nothing is taken apart.
//
// Where several servers have the same name or URI, it belongs to the first of them in the order in
// which they were added, or that [Gateway.Order] says, whichever of them is faster, and also while
// that one is down. A URI belongs as well to a server with a template that matches it: a resource
// of a server whose URI a template of one ahead of it matches, and a template for whose URIs one
// ahead of it has a template, collide with that. What collides is withheld from every list,
// and [Gateway.Withheld] and the log name it. Where two templates have only some URIs in
// common, both are offered, and the first server answers for these.
//
// So that a faster server does not get what belongs to another, resources and templates are offered
// when the servers ahead have said what they have for the first time, or could not be started;
// without prefixes, tools and prompts too. What they had the last time, as far as it is remembered,
// is theirs already. A server that is disabled or removed gives its names up.
//
// A client reads a URI at the first of its servers that has it, or a template for it. One that none
// has is looked for at those that have others of its scheme, in order.
//
// Definitions go through byte by byte, but for what strict clients would refuse a whole list for.
// Where it is clear what is meant that is repaired: null stands for an optional member that is not
// there, and the inputSchema of a tool is that of an object, said or not. Otherwise the definition
// is left out, and the log says so. Legacy clients do not get what their revision does not have:
// see [server.Tool].
//
// With [Gateway.Offer] more servers offer what some of the upstream servers have, from the same processes: one for each group of clients, say.
//
// # Pins
//
// With Options.Pins, a tool, prompt, resource or resource template that is not what it was when it
// was first used is withheld until it is accepted, and a resource, or what a template is for, is
// not read either. One that its server did not have then is not in a list until it is accepted; a
// new resource can be read, as it could be in no list at all.
//
// # Calls
//
// Arguments and results go through byte by byte, but for structured content that is no object,
// which legacy clients do not get. Progress, cancellation and the trace go through too. A call that
// is under way when its server dies fails; it is made again by the gateway only if the tool is
// declared idempotent or read-only.
//
// What a server has stays in the lists while it is down. A call waits for it if it is to be started
// again within 5 s, and within the deadline of the call; otherwise the error says when that is. One
// that has failed too many times is started by the next call: see package host. A call of a tool or
// prompt that is not there waits if it may be one of a server that has not said yet what it has, as
// the server is starting for the first time; if that cannot be started, the error says why.
//
// # Questions
//
// What a modern server asks within a call, be it of a tool or for a prompt or resource, becomes a question within the client's call, and nothing of it is kept here. A legacy server asks while its call goes on: if the client is modern, its
// call ends with the question, the server's goes on here, and the client's next one, with the answer, takes it up again; for 10 minutes at most, and only if it comes from the same client. A legacy server does not say which call
// it asks for: with two calls of a modern client under way, or requests of several clients, its question waits for the others to end, and after 5 s is refused, which the log is told; a legacy client, who is not told it either, is asked at once. Servers that ask are better not shared: host.Server.PerSession.
//
// # Roots
//
// A question for roots within a call is its client's, as any other is; where a client has none there are none, and the call goes on. Otherwise a legacy server gets the roots of all legacy clients that are
// there and have some, each root once, in the order in which the clients came. Each client is asked once, until it says that its roots have changed; servers hear of that, and of clients that come and
// go. For clients that do not answer a server waits 5 s.
//
// # Logs
//
// What a server logs while the requests of one client are under way is for that client, if it wants to hear: by logging/setLevel, or by what a modern one says with the request. With the requests of several clients under
// way on a shared server it is nobody's, and dropped. What a server logs outside of requests all legacy clients hear that want to. The name of the logger begins with the server's ID, "files/db". Servers are
// asked for as much as the most talkative of their clients wants, and a client gets nothing below its own level. For a client that does not keep up 256 messages of a server wait, or 1 MiB; then the
// oldest are dropped, and it is told how many.
//
// # Sessions
//
// With host.Server.PerSession each client has a client and a process of the server for itself: each
// connection, and each legacy session over HTTP, until it ends. Modern clients over HTTP and
// callers of operations have neither, so that nobody could tell them apart: what such a server has
// is not in their lists, and their calls of it fail with [ErrNoSession]. Such a server is told the
// roots of its client only, and only that one hears its logs. What it has, and what of that
// changes, is asked of one more process, which has no client.
//
// # Operations
//
// With Options.Catalog the tools are operations as well, "files.read" (see [host.OperationName]), for surfaces other than MCP. They come and go with the tools, and their calls go the same way. The input
// schema is the tool's; one that cannot be compiled is left to the server to check by. A read-only tool is of the kind read, one that says that it destroys of the kind
// destructive, and any other of the kind write; as MCP has it, a tool that does not say whether it destroys has to be confirmed as well.
//
// The data of a call is the result's structured content, or else its content. If the whole result says more than that, it is the envelope's original. The errors are
// upstream_error (the tool says that it failed, with the result as details; the server refuses, is dead, or cannot be started), not_found, state_error (it is disabled), not_implemented (it asks
// something), blocked (by a limit or an interceptor), timeout and cancelled. What a server asks meanwhile is answered by the OnElicit of its host.Server's Options, or refused.
//
// # Control
//
// Arguments and results that are too large are refused, by host.Server.MaxArguments and MaxResult. Options.Before and After look at each call of a tool, change it or refuse it. Options.Audit
// gets a JSON line for each call of a tool, read resource and prompt, when it has ended:
//
//	{"time":"2026-01-31T12:00:00.000Z","principal":"ada","server":"files","tool":"read","arguments":[{"name":"path","type":"string","size":7}],
//	 "arguments_size":16,"arguments_hmac":"…","duration_ms":1.25,"outcome":"ok","result_size":120}
//
// The arguments are those that the server was sent, or would have been, without their values; the
// first 64. The digest, HMAC-SHA-256 with Options.AuditKey, shows which arguments are the same
// without their being found by trying; it is that of their canonical form, which those do not have
// that have a name twice. The outcome is ok, tool_error, error (with its code), refused (with
// refused_by: limit, before or after), cancelled, or input_required: the client was asked
// something, and when it has answered there is another line, with "resumed":true. Lines that could
// not be written are counted, in a line with "dropped".
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
	// MaxName is how long the names of tools are at most; 0 is [host.DefaultMaxName].
	MaxName int
	// NoPrefix has tools and prompts keep the names that their servers give them, whatever MaxName
	// is: of two with the same name that of the first server in order is there.
	NoPrefix bool
	// NoDescriptionPrefix leaves descriptions as they are.
	NoDescriptionPrefix bool
	// Remember, if set, is a directory in which is kept what servers have that have a Digest: the next gateway offers that at once, and starts a server only when it is used.
	Remember string
	// Pins, if set, remember what tools, prompts, resources and templates looked like when they
	// were first used, or came within 10 s of that. What is another now, or new to a server that is
	// known, is withheld until it is accepted with [pin.Lock.Accept], and [Gateway.Recheck] or the
	// next list of the server has seen that. With PinsWarn it is offered, and the log told.
	Pins     *pin.Lock
	PinsWarn bool
	// Before sees each call of a tool before it is made, and After what has come of it, unless that is an error or a question. Each sees what the one ahead of it has made of the call.
	Before, After []Interceptor
	// Audit, if set, gets a line for each call: see above. It need not be fast nor work: no call waits for it. One that is stuck for good keeps a goroutine.
	Audit io.Writer
	// AuditValues has the audit log contain the arguments themselves.
	AuditValues bool
	// AuditKey is the key of the digests in the audit log, secret and of 32 random bytes. nil is
	// one of this gateway's own: then the same arguments have another digest in the lines of the
	// next.
	AuditKey []byte
	// Catalog, if set, has the tools as operations too, for a command line or an HTTP API: see
	// above. [Gateway.AwaitOperation] is for its dispatcher. It must not be the catalog of the
	// gateway's own server, which has the tools already.
	Catalog *dispatch.Catalog
	// Logger hears of tools that are left out, that the audit log cannot be written, and of questions and log messages that cannot be passed on; nil is slog.Default(). What servers log does not go there.
	Logger *slog.Logger
}

// A Gateway offers what servers have. Its methods may be called from anywhere at any time.
type Gateway struct {
	o        Options
	manager  *host.Manager
	flights  flights
	visits   visits
	sessions sessions
	guests   guests
	legacies legacies
	audit    *trail // nil for none
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	watched  chan struct{} // capacity 1: what clients watch may be something else
	fronting sync.Mutex    // held by who changes the fronts; before offering
	offering sync.Mutex    // held by who changes what is offered, and whose it is; before mu
	claims   *claims
	notes    []note // with offering

	mu     sync.Mutex
	closed bool
	fronts []*front // replaced, never changed
	mounts map[string]*mount
}

// New returns a gateway without servers, that adds what they have to s. If s is nil, only [Gateway.Offer] says where it is offered.
func New(s *server.Server) *Gateway { return Options{}.New(s) }

// New is [New] with options.
func (o Options) New(s *server.Server) *Gateway {
	o.MaxName = cmp.Or(o.MaxName, host.DefaultMaxName)
	o.Logger = contain.Logger(o.Logger)
	g := &Gateway{o: o, mounts: make(map[string]*mount), claims: newClaims()}
	g.manager = host.NewManager(g.stateChanged)
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.watched = make(chan struct{}, 1)
	if o.Audit != nil {
		g.audit = newTrail(o.Audit, o.AuditValues, o.AuditKey, o.Logger)
	}
	g.wg.Go(g.spreadWatches)
	if s != nil {
		s.Integration().Declare(server.KindResource, server.KindTemplate, server.KindPrompt)
		g.setFront(&front{server: s, all: true})
	}
	return g
}

// Manager returns what keeps the servers, to ask for their status, and to enable, disable and restart them. Servers are added and removed by the gateway only.
func (g *Gateway) Manager() *host.Manager { return g.manager }

// Add adds a server. It does not block: the server is started, and what it has is there when it has said so; or, if it is remembered what it had, that is there, and the server is started when it is used. Of its Options the gateway has
// TapLog and the callbacks for changes to itself, and OnElicit, OnSample and OnRoots unless they are set. The error is that of [host.Manager.Add].
//
// If there is one with the same ID, that is replaced, and Add blocks until it has ended: what it had is taken away, and calls that are under way fail.
func (g *Gateway) Add(s host.Server) error {
	old := g.unmount(s.ID)
	s.Options.CallTimeout = cmp.Or(s.Options.CallTimeout, callTimeout)
	m := g.newMount(&s)
	if connect := s.Connect; connect != nil {
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client, error) {
			g.answer(&o, s.ID, session)
			m.tellRoots(&o, session)
			if session == "" { // what a client's own server has by now is nobody else's concern
				m.wantChanges(&o)
			}
			return m.connect(ctx, session, o, connect)
		}
	}
	err := g.manager.Add(s)
	if err == nil { // before the old one gives up what it had: nobody else is to have it meanwhile
		g.claims.enter(s.ID)
	}
	if old != nil {
		old.withdraw()
	}
	if err != nil {
		m.cancel()
		g.manager.Remove(s.ID)
		g.claims.leave(s.ID)
		g.heard(s.ID)
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		m.cancel()
		return host.ErrClosed
	}
	g.mounts[s.ID] = m
	g.wg.Go(m.run)
	return nil
}

// Order has these servers stand first, in this order, which says whose a name or URI is that
// several have. The others stand behind them, in the order in which they were added. Those that are
// not there yet have their place when they are added.
func (g *Gateway) Order(ids ...string) {
	defer g.changing()()
	g.claims.order(ids)
	g.arrange(g.allMounts())
}

// Settle blocks until all servers that were added have said what they have, or could not be started, or ctx ends: for clients that look only once.
func (g *Gateway) Settle(ctx context.Context) {
	g.mu.Lock()
	mounts := slices.Collect(maps.Values(g.mounts))
	g.mu.Unlock()
	for _, m := range mounts {
		select {
		case <-m.looked:
		case <-m.done:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh starts a server, unless it is running, and blocks until what it has now is offered in place of what is remembered of it, or ctx ends. The errors are those of [host.Manager.Use]
// and of the server's lists; [host.ErrClosed], too, if the server is removed meanwhile.
func (g *Gateway) Refresh(ctx context.Context, id string) error {
	g.mu.Lock()
	m := g.mounts[id]
	g.mu.Unlock()
	if m == nil {
		return fmt.Errorf("server %q: %w", id, host.ErrUnknown)
	}
	asked, done := m.asked, make(chan error, 1)
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

// Remove takes a server and all that it has away, and blocks until it has ended. It reports false if there is none.
func (g *Gateway) Remove(id string) bool {
	m := g.unmount(id)
	if m == nil {
		return false
	}
	g.manager.Remove(id)
	m.withdraw()
	g.claims.leave(id)
	g.heard(id)
	return true
}

// unmount ends what looks after a server, and returns that; nil if there is nothing. What the server has is still to be withdrawn.
func (g *Gateway) unmount(id string) *mount {
	g.mu.Lock()
	m := g.mounts[id]
	delete(g.mounts, id)
	g.mu.Unlock()
	if m != nil {
		m.cancel()
		<-m.done
	}
	return m
}

// Tools returns how many tools of each server are offered, but for those that offer none.
func (g *Gateway) Tools() map[string]int {
	all := map[string]int{}
	for _, m := range g.allMounts() {
		if n := m.tools.count(); n > 0 {
			all[m.id] = n
		}
	}
	return all
}

func (g *Gateway) allMounts() []*mount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.mounts))
}

// mountsOf returns those of these servers, each once.
func (g *Gateway) mountsOf(ids []string) []*mount {
	return slices.DeleteFunc(g.allMounts(), func(m *mount) bool { return !slices.Contains(ids, m.id) })
}

// stateChanged has a mount look at its server, that has come or gone.
func (g *Gateway) stateChanged(s host.Status) {
	g.mu.Lock()
	m := g.mounts[s.ID]
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
	m.look()
}

// look has the gateway look what its clients watch.
func (g *Gateway) look() {
	select {
	case g.watched <- struct{}{}:
	default:
	}
}

// A note is for the log.
type note struct {
	message string
	attrs   []any
}

// changing has nobody else change what is offered until done is called, which tells the log of what
// is left out.
func (g *Gateway) changing() (done func()) {
	g.offering.Lock()
	return func() {
		notes := g.notes
		g.notes = nil
		g.offering.Unlock()
		for _, n := range notes {
			g.o.Logger.Warn(n.message, n.attrs...)
		}
	}
}

// note has the log told of something when the change is done. With offering.
func (g *Gateway) note(message string, attrs ...any) {
	g.notes = append(g.notes, note{message, attrs})
}

// arrange has fronts offer what is to be offered of these mounts now. With offering.
func (g *Gateway) arrange(mounts []*mount) {
	for _, f := range g.allFronts() {
		defer f.server.Integration().DeferListChanged()()
	}
	for _, m := range mounts { // first: what one gives up another may get
		for _, s := range m.shelves {
			s.shrink()
		}
	}
	for _, m := range mounts {
		for _, s := range m.shelves {
			s.grow()
		}
	}
	g.look()
}

// heard has what waits for a server offered, as it has said what it has, or cannot.
func (g *Gateway) heard(id string) {
	defer g.changing()()
	g.claims.hear(id)
	g.arrange(slices.DeleteFunc(g.allMounts(), func(m *mount) bool { return !m.isWaiting() }))
}

// Close ends all servers, and blocks until nothing is left of them, and for up to 5 s until the audit log is written; it misses calls that end later, so the end of those who serve clients goes first.
// What the servers had is taken away.
func (g *Gateway) Close() {
	g.fronting.Lock()
	defer g.fronting.Unlock()
	for _, f := range g.allFronts() {
		f.unhear()
	}
	g.mu.Lock()
	g.closed = true
	mounts := g.mounts
	g.mounts = make(map[string]*mount)
	g.mu.Unlock()
	for _, f := range g.allFronts() {
		f.detach()
	}
	g.cancel()
	g.guests.end()
	g.manager.Close()
	g.wg.Wait()
	g.flights.wait()
	for _, m := range mounts {
		m.withdraw()
	}
	if g.audit != nil {
		g.audit.close()
	}
}

// callTimeout is how long a call may take, or be without progress, unless the server's Options say so: longer than a client's own, that is to give up first.
const callTimeout = 10 * time.Minute

// listPatience is how long a server may take to be started and to say what it has.
const listPatience = 2 * time.Minute
