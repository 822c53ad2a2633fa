package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/astools"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/client/host/gateway/internal/statelog"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An Upstream describes a server to a [Gateway].
type Upstream struct {
	host.Server

	// Digest, if set, identifies the definition of the server. The gateway caches the server's
	// lists while it is the same.
	Digest string
	// Source, if set, says where the definition of the server is, as in the path of a configuration
	// file. The gateway keeps pins by ID and Source.
	Source string
	// Filter selects the tools that the gateway offers.
	Filter host.Filter
	// Listed are patterns of tools that are also listed for clients that find the others by a
	// search: see [server.ToolView].
	Listed []string
	// Overrides change how the gateway offers items, and the arguments of tools: see Overrides in
	// the package comment.
	Overrides map[string]host.Override
	// AsTools offers the resources and prompts of the server as tools too: list_resources and
	// read_resource, list_prompts and get_prompt, unless it has tools with these names. Filter does
	// not apply to them.
	AsTools bool
	// MaxArguments and MaxResult limit the bytes of the arguments of a call of a tool or prompt,
	// and of the result of a call or read; 0 means 8 MiB. A message over Options.Limits.MaxFrame
	// cannot be received.
	MaxArguments, MaxResult int
	// MaxResultText limits the text of a result that a client gets, in characters, by the server's
	// own name of the tool; "*" is for its other tools. 0 means no limit, whatever
	// Options.MaxResultText returns. See Large results in the package comment.
	MaxResultText map[string]int
	// CacheResults is how long the gateway answers a call of a tool that only reads with the result
	// of an earlier one with the same arguments; 0 means never. The earlier one is of the same
	// principal or, with CachePublic, of any. See Cached results in the package comment.
	CacheResults time.Duration
	CachePublic  bool
	// User, if set, is called for each request to a server with host.PerUser of a caller with a
	// principal. It returns the name of the user that the connection to the server is for, which
	// is the principal if User is nil, and what Connect gets to know of him by [host.UserFrom]. The
	// name must differ for callers that must not share a connection. An error refuses the request,
	// and its caller gets it after "server ID". User must not block.
	User func(ctx context.Context) (name string, user any, err error)
	// Login, if set, returns nil for a caller with a principal who has logged in to a server with
	// host.PerUser, and otherwise the function that asks him to. Without a login, the caller has no
	// lists of the server but for the tool "login", and no connection is made for them; when he
	// uses that, or a tool or prompt whose name begins with the ID of the server and that he does
	// not have, ask is called with the server's own name of it. It returns
	// nil once he has logged in, and otherwise the result for his request, or an error that follows
	// the rules of [server.Resource].Read; one that matches dispatch.NotFound hides the server.
	// Login must not block; ask may. See [Gateway.Relist].
	Login func(ctx context.Context) (ask func(ctx context.Context, kind mcp.Kind, name string) (
		json.RawMessage, error))
}

// Add adds a server. It does not block: the server is started, and its lists are offered as soon as
// it returns them. If they are cached, they are offered at once, and the server is started on first
// use. The gateway sets OnRawLog and the change callbacks of the server's Options, and OnElicit,
// OnSample and OnRoots unless they are set. The error is that of [host.Filter.Check] or
// [host.Manager.Add].
//
// A server with the same ID is replaced: Add blocks until it has ended, its items are withdrawn,
// and its calls fail.
func (g *Gateway) Add(s Upstream) error {
	old := g.removeUpstream(s.ID)
	s.Options.CallTimeout = cmp.Or(s.Options.CallTimeout, callTimeout)
	u := g.newUpstream(&s)
	if connect := s.Connect; connect != nil {
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			g.requests.SetHandlers(&o, u.peer.Key(session), u.warnAmbiguous)
			apps.Declare(&o)
			g.peers.SetRootsHandler(&u.peer, &o, session)
			switch {
			case session == "": // the lists come from the shared process only
				u.setChangeHandlers(&o)
			case s.Sharing == host.PerUser:
				o.OnListChanged = func(mcp.Kind) { g.listsChanged(u.users.drop(session, true)) }
			}
			return g.peers.Connect(ctx, &u.peer, session, o, connect)
		}
	}
	err := s.Filter.Check()
	if err == nil {
		err = g.manager.Add(s.Server)
	}
	if err == nil { // before the old server loses its names, so that no other server gets them
		g.names.AddServer(s.ID)
	}
	if old != nil {
		old.withdraw()
	}
	if err != nil {
		u.cancel()
		g.manager.Remove(s.ID)
		g.names.RemoveServer(s.ID)
		g.serverListed(s.ID)
		return err
	}
	g.mu.Lock()
	closed := g.closed
	if closed {
		u.cancel()
	} else {
		g.upstreams[s.ID] = u
		g.wg.Go(u.run)
	}
	g.mu.Unlock()
	if closed {
		return host.ErrClosed
	}
	g.offerReader()
	return nil
}

func (g *Gateway) newUpstream(s *Upstream) *upstreamServer {
	u := &upstreamServer{g: g, id: s.ID, filter: s.Filter, overrides: s.Overrides,
		hidden: hiddenTemplates(s.Overrides), sharing: s.Sharing, user: s.User, login: s.Login,
		answersQuestions: s.Options.OnElicit != nil, digest: s.Digest, source: s.Source,
		maxArguments: cmp.Or(s.MaxArguments, defaultMax),
		maxResult:    cmp.Or(s.MaxResult, defaultMax), maxResultText: maps.Clone(s.MaxResultText),
		wake: make(chan struct{}, 1), recheck: make(chan struct{}, 1), done: make(chan struct{}),
		recalled: make(chan struct{}), listedOnce: make(chan struct{})}
	if len(s.Listed) > 0 {
		u.listed = &host.Filter{Allow: s.Listed}
	}
	u.instructions.Store(new(serverInstructions))
	u.users = userTable{catalog: g.o.Catalog, memory: g.userLists, byName: map[string]*userLists{},
		operations: map[string]*userOperation{}}
	if s.Login != nil && s.Sharing == host.PerUser {
		u.loginTool, u.toLogIn = u.newLoginTool(), sync.OnceValue(u.ownLoginTool)
	}
	u.disabled.Store(s.Disabled)
	if s.CacheResults > 0 {
		u.cache = resultcache.New(g.cached, s.CacheResults, s.CachePublic)
	}
	u.peer.ID, u.peer.Shared, u.peer.Level = s.ID, s.Sharing == host.Shared, s.Options.LogLevel
	u.peer.OfferedAt = func() []*server.Server { return g.downstreamServersOf(u.id) }
	u.subscriptions.wanted = make(chan struct{}, 1)
	u.subscriptions.changed = make(chan struct{}, 1)
	u.ctx, u.cancel = context.WithCancel(g.ctx)
	u.fetches = listfetch.Server{ID: u.id, Ctx: u.ctx, Begin: u.beginFetch,
		Unwanted: u.disabled.Load, Stale: u.notify, Log: g.o.Logger}
	if s.AsTools {
		source := &astools.Source{Offered: u.offered, Read: u.readListed, Get: u.getPrompt}
		u.asTools = map[mcp.Kind][]*definition.Definition{}
		for _, kind := range []mcp.Kind{mcp.KindResource, mcp.KindPrompt} {
			u.asTools[kind] = source.Tools(kind)
		}
	}
	for kind := range mcp.Kinds() {
		if kind.Info().ListMethod != "" {
			u.lists = append(u.lists, u.newList(kind))
		}
	}
	return u
}

// Remove removes a server and its items, and blocks until the server has ended. It reports false if
// there is no such server.
func (g *Gateway) Remove(id string) bool {
	u := g.removeUpstream(id)
	if u == nil {
		return false
	}
	g.manager.Remove(id)
	u.withdraw()
	g.names.RemoveServer(id)
	g.serverListed(id)
	g.offerReader()
	return true
}

// removeUpstream stops the goroutine of a server and returns the server, or nil if there is none.
// The caller withdraws its items.
func (g *Gateway) removeUpstream(id string) *upstreamServer {
	g.mu.Lock()
	u := g.upstreams[id]
	delete(g.upstreams, id)
	g.mu.Unlock()
	if u != nil {
		u.cancel()
		<-u.done
		u.cache.Close()
	}
	return u
}

// Settle blocks until every added server has been listed or could not be started, or until ctx
// ends. It is for clients that list only once.
func (g *Gateway) Settle(ctx context.Context) {
	g.await(ctx, func(u *upstreamServer) <-chan struct{} { return u.listedOnce })
}

// Recall blocks until the gateway offers what Options.CacheDir has of every added server, or until
// ctx ends. It waits for no server. It is for legacy clients, which get the instructions of servers
// only once, at their first request.
func (g *Gateway) Recall(ctx context.Context) {
	g.await(ctx, func(u *upstreamServer) <-chan struct{} { return u.recalled })
}

func (g *Gateway) await(ctx context.Context, done func(*upstreamServer) <-chan struct{}) {
	for _, u := range g.allUpstreams() {
		select {
		case <-done(u):
		case <-u.done:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh starts a server unless it is running, and blocks until its current lists are offered or
// ctx ends. The errors are those of [host.Manager.Use] and of the lists that the server does not
// return, which do not affect the others, or [host.ErrClosed] if the server is removed meanwhile.
func (g *Gateway) Refresh(ctx context.Context, id string) error {
	u := g.upstream(id)
	if u == nil {
		return fmt.Errorf("server %q: %w", id, host.ErrUnknown)
	}
	return u.refresh(ctx, u.fetchers()...)
}

// Order puts these servers first, in this order, which decides which server owns a name or URI that
// several have. The others follow in the order in which they were added. An ID may be ordered
// before its server is added.
func (g *Gateway) Order(ids ...string) {
	defer g.lockOffers()()
	g.names.SetOrder(append([]string{reserver}, ids...))
	g.updateOffers(g.allUpstreams())
}

// Tools returns the number of offered tools of each server that offers any.
func (g *Gateway) Tools() map[string]int {
	all := map[string]int{}
	for _, u := range g.allUpstreams() {
		if n := u.list(mcp.KindTool).count(); n > 0 {
			all[u.id] = n
		}
	}
	return all
}

// Withheld returns the items that are not offered, by server ID, sorted by kind and name. The
// instructions of a server are an item of the kind "instructions".
func (g *Gateway) Withheld() map[string][]WithheldItem {
	all := map[string][]WithheldItem{}
	for _, u := range g.allUpstreams() {
		for _, l := range u.lists {
			all[u.id] = append(all[u.id], l.withheldItems()...)
		}
		if w := u.instructions.Load().withheld; w != nil {
			all[u.id] = append(all[u.id], *w)
		}
		if all[u.id] = append(all[u.id], u.users.withheldItems()...); all[u.id] == nil {
			delete(all, u.id)
		}
	}
	return all
}

// Unlisted returns, by server ID, the kinds of the lists that are not known: not fetched yet, or
// not returned by the server. Disabled servers do not count.
func (g *Gateway) Unlisted() map[string][]string {
	all := map[string][]string{}
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || u.sharing == host.PerUser { // whose lists nobody else knows
			continue
		}
		for _, l := range u.fetchers() {
			if !l.Known() {
				all[u.id] = append(all[u.id], string(l.Kind))
			}
		}
	}
	return all
}

// stateChanged logs a change of a server's state, and updates the lists of a server that was
// started, enabled or disabled.
func (g *Gateway) stateChanged(s host.Status) {
	if g.ctx.Err() == nil { // Close ends all servers
		statelog.Log(g.o.Logger, s)
	}
	u := g.upstream(s.ID)
	if u == nil {
		return
	}
	if s.Session != "" {
		if s.State == host.Stopped { // the connection that his lists are of has ended
			g.listsChanged(u.users.drop(s.Session, s.Ended))
		}
		return
	}
	switch s.State {
	case host.Ready:
		u.disabled.Store(false)
		u.reenabled.Store(false)
	case host.Disabled:
		u.disabled.Store(true)
		u.reenabled.Store(false)
	case host.Stopped:
		if !u.disabled.CompareAndSwap(true, false) {
			return // stopped for lack of use, not enabled again
		}
		u.reenabled.Store(true)
	default: // its items stay in the lists while it is down
		return
	}
	u.notify()
}

// defaultMax is the default limit of arguments and results in bytes. Many servers and clients fail
// at messages of 10 MiB.
const defaultMax = 8 << 20

// callTimeout is the default limit of a call without progress. It exceeds a client's own, so that
// the client times out first.
const callTimeout = 10 * time.Minute
