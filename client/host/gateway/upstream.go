package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/astools"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstreamServer is a server that the gateway offers, with its lists. One goroutine, run, keeps
// the lists current until ctx ends.
type upstreamServer struct {
	g         *Gateway
	id        string
	filter    host.Filter
	listed    *host.Filter // of Upstream.Listed; nil: none
	overrides map[string]host.Override
	hidden    *uritemplate.Set                      // of overrides; nil: none
	asTools   map[mcp.Kind][]*definition.Definition // nil without Upstream.AsTools
	sharing   host.Sharing
	// Upstream.User and Login; may be nil
	user             func(context.Context) (name string, user any, err error)
	login            func(context.Context) askLogin
	answersQuestions bool // the application has set Options.OnElicit of the server
	digest           string
	source           string
	ctx              context.Context
	cancel           context.CancelFunc
	done             chan struct{}
	wake             chan struct{} // capacity 1
	recalled         chan struct{} // closed after the attempt to load the cached lists
	listedOnce       chan struct{} // closed after the first attempt to fetch each list
	disabled         atomic.Bool
	reenabled        atomic.Bool      // enabled again, and not ready since
	recheck          chan struct{}    // capacity 1: pins have changed
	fetching         atomic.Int64     // number of fetches of lists in progress
	level            mcp.LoggingLevel // Options.LogLevel of the server
	hasApps          atomic.Bool      // a tool with an app was offered once
	ambiguousLogs    atomic.Int64     // number of log messages that could belong to several clients

	maxArguments, maxResult int            // bytes
	maxResultText           map[string]int // see Upstream

	cache *resultcache.Cache // nil: no results are cached

	subscriptions subscriptions

	users     userTable               // the lists of users, with host.PerUser
	loginTool *server.Item            // nil without Upstream.Login
	toLogIn   func() *server.OwnItems // the tool, for users who have to log in

	fetches listfetch.Server
	lists   []*itemList // of each kind that servers list

	applying sync.Mutex        // held while lists change, without waiting for the server
	server   string            // serverInfo.name of the latest list; guarded by applying
	cached   [sha256.Size]byte // of the cache file; guarded by applying
	unsaved  bool              // a list came after that was written; guarded by applying
	unknown  []string          // keys of overrides that were logged as unknown; guarded by applying

	instructions atomic.Pointer[serverInstructions] // never nil; set while applying is held
}

func (g *Gateway) newUpstream(s *Upstream) *upstreamServer {
	u := &upstreamServer{g: g, id: s.ID, filter: s.Filter, overrides: s.Overrides,
		hidden:  hiddenTemplates(s.Overrides),
		sharing: s.Sharing, user: s.User, login: s.Login,
		answersQuestions: s.Options.OnElicit != nil,
		digest:           s.Digest,
		source:           s.Source, wake: make(chan struct{}, 1),
		recalled: make(chan struct{}), listedOnce: make(chan struct{}),
		recheck: make(chan struct{}, 1), done: make(chan struct{})}
	if len(s.Listed) > 0 {
		u.listed = &host.Filter{Allow: s.Listed}
	}
	u.instructions.Store(new(serverInstructions))
	u.users = userTable{g: g, byName: map[string]*userLists{},
		operations: map[string]*userOperation{}}
	if s.Login != nil && s.Sharing == host.PerUser {
		u.loginTool, u.toLogIn = u.newLoginTool(), sync.OnceValue(u.ownLoginTool)
	}
	u.disabled.Store(s.Disabled)
	u.maxArguments, u.maxResult = cmp.Or(s.MaxArguments, defaultMax),
		cmp.Or(s.MaxResult, defaultMax)
	u.maxResultText = maps.Clone(s.MaxResultText)
	if s.CacheResults > 0 {
		u.cache = resultcache.New(g.cached, s.CacheResults, s.CachePublic)
	}
	u.level = s.Options.LogLevel
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

// beginFetch runs a fetch of a list in the background. The cache is written when none is in
// progress. It reports false if the gateway is closed.
func (u *upstreamServer) beginFetch(f func()) bool {
	u.fetching.Add(1)
	ok := u.g.background(func() {
		defer u.endFetch()
		f()
	})
	if !ok {
		u.fetching.Add(-1)
	}
	return ok
}

func (u *upstreamServer) endFetch() {
	if u.fetching.Add(-1) == 0 {
		u.saveCache()
	}
}

// refresh starts the server if necessary and waits until these lists of it are current or ctx ends.
// The errors are those of [host.Manager.Use], and *listfetch.ListErrors for lists that cannot be
// fetched.
func (u *upstreamServer) refresh(ctx context.Context, lists ...*listfetch.Fetcher) error {
	if u.sharing == host.PerUser {
		return nil
	}
	err := u.g.manager.UseIdempotent(ctx, u.id, "", func(c *client.Client) error {
		fetches := make([]*listfetch.Fetch, len(lists))
		u.fetching.Add(1) // so that the cache is written once
		for i, l := range lists {
			fetches[i] = l.From(c)
		}
		u.endFetch()
		var errs []error
		for _, f := range fetches {
			select {
			case <-f.Done():
				errs = append(errs, f.Err())
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return errors.Join(errs...)
	})
	if err != nil && u.ctx.Err() != nil {
		return host.ErrClosed
	}
	return err
}

// fetchers returns the fetchers of all lists.
func (u *upstreamServer) fetchers() (all []*listfetch.Fetcher) {
	for _, l := range u.lists {
		all = append(all, l.fetcher)
	}
	return all
}

// setChangeHandlers sets the handlers of change notifications.
func (u *upstreamServer) setChangeHandlers(o *client.Options) {
	o.OnResourceUpdated = u.updated
	o.OnListChanged = func(kind mcp.Kind) {
		u.cache.Drop()
		for _, l := range u.fetchers() { // templates and skills share the notification of resources
			if l.Kind.Info().ListChanged == kind.Info().ListChanged {
				l.Changed()
			}
		}
		u.notify()
	}
}

// notify wakes run. It does not block.
func (u *upstreamServer) notify() { wake.Up(u.wake) }

// run lists the server and keeps its lists and subscriptions current.
func (u *upstreamServer) run() {
	defer close(u.done)
	var others sync.WaitGroup
	u.subscriptions.task.Start, u.subscriptions.task.Do = others.Go, u.keepSubscribed
	others.Go(u.listFirst)
	defer others.Wait()
	for {
		select {
		case <-u.subscriptions.wanted:
			if len(u.subscriptions.get()) > 0 {
				u.subscriptions.task.Wake()
			}
		case <-u.recheck:
			u.recheckPins()
		case <-u.wake:
			u.update()
		case <-u.ctx.Done():
			u.users.clear()
			u.saveCache()
			return
		}
	}
}

// listFirst offers the lists for the first time, from the cache or from the server.
func (u *upstreamServer) listFirst() {
	complete := u.disabled.Load() || u.sharing != host.PerUser && u.loadCache()
	close(u.recalled)
	switch {
	case u.sharing == host.PerUser: // each user's lists are fetched when he asks
		for _, l := range u.fetchers() {
			l.SetKnown()
		}
	case u.disabled.Load():
		u.update()
	case !complete:
		u.warnUnlisted(u.refresh(u.ctx, u.fetchers()...))
	}
	for _, l := range u.fetchers() {
		l.SetTried()
	}
	u.g.serverListed(u.id)
	close(u.listedOnce)
}

// update brings the lists up to date, or withdraws them if the server is disabled. It waits for the
// start of the server, but not for its lists.
func (u *upstreamServer) update() {
	if u.sharing == host.PerUser {
		u.users.clear()
		return
	}
	if u.disabled.Load() {
		u.withdrawIf(u.disabled.Load) // it may have been enabled and listed meanwhile
		return
	}
	if u.reenabled.Swap(false) && u.loadCache() {
		return
	}
	u.warnUnlisted(u.g.manager.UseIdempotent(u.ctx, u.id, "", func(c *client.Client) error {
		u.fetching.Add(1) // so that the cache is written once
		for _, l := range u.fetchers() {
			l.Update(c)
		}
		u.endFetch()
		return nil
	}))
}

// warnUnlisted logs why no list of the server can be fetched, unless that is as it should be. A
// listfetch.Fetcher logs the error of its own list, and package statelog that of the server.
func (u *upstreamServer) warnUnlisted(err error) {
	_, isLogged := errors.AsType[*listfetch.ListError](err)
	if _, failed := errors.AsType[*host.UnavailableError](err); failed {
		isLogged = true
	}
	if err != nil && !isLogged && u.ctx.Err() == nil && !errors.Is(err, host.ErrDisabled) {
		u.warn("the lists of a server cannot be fetched", err)
	}
}

func (u *upstreamServer) warn(message string, err error) {
	u.g.o.Logger.Warn("gateway: "+message, slog.String("server", u.id), slog.Any("error", err))
}

// warnAmbiguous logs that a question is refused.
func (u *upstreamServer) warnAmbiguous(method string) {
	u.g.o.Logger.Warn(
		"gateway: a question is refused: the server does not say which call it belongs to",
		slog.String("server", u.id), slog.String("method", method))
}

// recheckPins compares the latest lists with their pins again.
func (u *upstreamServer) recheckPins() {
	u.users.clear()
	u.applying.Lock()
	defer u.applying.Unlock()
	revision := int(u.g.pinRevision.Load())
	for _, l := range u.lists {
		if u.g.pins == nil || l.pins.Revision < revision {
			l.recheck()
		}
	}
	if i := u.instructions.Load(); i.isKnown {
		u.admitInstructions(i.server, i.pinned)
	}
}

// downstreamServers returns the servers that offer the lists of u.
func (u *upstreamServer) downstreamServers() []*server.Server {
	return u.g.downstreamServersOf(u.id)
}

// updated sends resources/updated for a URI to the downstream servers where it belongs to u or to
// no server.
func (u *upstreamServer) updated(uri string) {
	u.cache.Drop()
	uri = appuri.Public(u.id, uri)
	for _, d := range u.g.allDownstreams() {
		if owner := u.g.ownerOf(d, uri); d.includes(u.id) && (owner == u || owner == nil) {
			d.server.ResourceUpdated(uri)
		}
	}
}

// withdraw withdraws all items of the server.
func (u *upstreamServer) withdraw() { u.withdrawIf(func() bool { return true }) }

// withdrawIf is withdraw if unwanted returns true while no list changes.
func (u *upstreamServer) withdrawIf(unwanted func() bool) {
	u.applying.Lock()
	defer u.applying.Unlock()
	if !unwanted() {
		return
	}
	u.instructions.Store(new(serverInstructions))
	g := u.g
	defer g.lockOffers()()
	var affected []string
	for _, l := range u.lists {
		affected = append(affected, l.withdraw()...)
	}
	g.updateOffers(append(g.upstreamsByID(affected), u))
}

// isWaiting reports whether an item waits until earlier servers are listed.
func (u *upstreamServer) isWaiting() bool {
	for _, l := range u.lists {
		if l.isWaiting() {
			return true
		}
	}
	return false
}
