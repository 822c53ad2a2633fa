package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstreamServer is a server that the gateway offers, with its lists. One goroutine, run, keeps
// the lists current until ctx ends.
type upstreamServer struct {
	g                *Gateway
	id               string
	filter           host.Filter
	perSession       bool
	answersQuestions bool // the application has set Options.OnElicit of the server
	digest           string
	cached           []byte // content of the cache file
	ctx              context.Context
	cancel           context.CancelFunc
	done             chan struct{}
	wake             chan struct{}     // capacity 1
	refreshes        chan chan<- error // requests for a sync; each channel has capacity 1
	listedOnce       chan struct{}     // closed after the first attempt to list
	disabled         atomic.Bool
	reenabled        atomic.Bool      // enabled again, and not ready since
	known            atomic.Bool      // the lists are known, from the server or from the cache
	recheck          chan struct{}    // capacity 1: pins have changed
	level            mcp.LoggingLevel // Options.LogLevel of the server
	hasApps          atomic.Bool      // a tool with an app was offered once
	ambiguousLogs    atomic.Int64     // number of log messages that could belong to several clients

	// the client whose lists are offered; set by run
	listed atomic.Pointer[client.Client]

	maxArguments, maxResult int // bytes

	subscriptions subscriptions

	tools     *itemList[mcp.Tool, *server.Server]
	prompts   *itemList[mcp.Prompt, *server.Server]
	resources *itemList[mcp.Resource, *server.Server]
	templates *itemList[mcp.ResourceTemplate, *server.Server]
	skills    *itemList[mcp.Skill, *server.Server]
	// lists are the five itemLists above.
	lists []interface {
		sync(ctx context.Context, c *client.Client, isNew bool) error
		recheck()
		withdraw() (affected []string)
		removeStale()
		addMissing()
		isWaiting() bool
		withheldItems() []WithheldItem
	}
}

func (g *Gateway) newUpstream(s *host.Server) *upstreamServer {
	u := &upstreamServer{g: g, id: s.ID, filter: s.Filter, perSession: s.PerSession,
		answersQuestions: s.Options.OnElicit != nil, digest: s.Digest, wake: make(chan struct{}, 1),
		refreshes: make(chan chan<- error), listedOnce: make(chan struct{}),
		recheck: make(chan struct{}, 1), done: make(chan struct{})}
	u.disabled.Store(s.Disabled)
	u.maxArguments, u.maxResult = cmp.Or(s.MaxArguments, defaultMax),
		cmp.Or(s.MaxResult, defaultMax)
	u.level = s.Options.LogLevel
	u.subscriptions.changed = make(chan struct{}, 1)
	u.ctx, u.cancel = context.WithCancel(g.ctx)
	u.tools = &itemList[mcp.Tool, *server.Server]{upstream: u, downstreams: u.downstreamServers,
		kind: kindTool, shared: g.o.NoPrefix, list: client.Integration.ToolDefinitions,
		add: u.putTool, remove: (*server.Server).RemoveTools,
		name: func(t *mcp.Tool) (string, string) {
			if !u.filter.Allows(t.Name) {
				return t.Name, ""
			}
			return t.Name, u.publicName(t.Name)
		}}
	if g.o.Catalog != nil {
		u.tools.operations = u.operationList(g.o.Catalog)
	}
	u.prompts = &itemList[mcp.Prompt, *server.Server]{upstream: u, downstreams: u.downstreamServers,
		kind: kindPrompt, shared: g.o.NoPrefix, list: client.Integration.PromptDefinitions,
		add: u.putPrompt, remove: (*server.Server).RemovePrompts,
		name: func(p *mcp.Prompt) (string, string) { return p.Name, u.publicName(p.Name) }}
	u.resources = &itemList[mcp.Resource, *server.Server]{upstream: u,
		downstreams: u.downstreamServers, kind: kindResource, shared: true,
		list: client.Integration.ResourceDefinitions,
		add:  u.putResource, remove: (*server.Server).RemoveResources,
		name: func(r *mcp.Resource) (string, string) { return r.URI, u.publicURI(r.URI) }}
	u.templates = &itemList[mcp.ResourceTemplate, *server.Server]{upstream: u,
		downstreams: u.downstreamServers, kind: kindTemplate, shared: true,
		list: client.Integration.ResourceTemplateDefinitions, add: u.putTemplate,
		remove: (*server.Server).RemoveResourceTemplates,
		name: func(t *mcp.ResourceTemplate) (string, string) {
			return t.URITemplate, u.publicURI(t.URITemplate)
		}}
	u.skills = &itemList[mcp.Skill, *server.Server]{upstream: u,
		downstreams: u.downstreamServers, kind: kindSkill, shared: true,
		list: client.Integration.SkillDefinitions, add: u.putSkill,
		remove: (*server.Server).RemoveSkills,
		name:   func(s *mcp.Skill) (string, string) { return s.URI, s.URI },
		uris: func(s *mcp.Skill) (uris []string) {
			for _, f := range s.Resources.Files {
				uris = append(uris, f.URI)
			}
			return uris
		}}
	u.lists = append(u.lists, u.tools, u.prompts, u.resources, u.templates, u.skills)
	return u
}

// setChangeHandlers sets the handlers of change notifications.
func (u *upstreamServer) setChangeHandlers(o *client.Options) {
	o.OnResourceUpdated = u.updated
	o.OnListChanged = func(method string) {
		switch method {
		case mcp.MethodListTools:
			u.tools.stale.Store(true)
		case mcp.MethodListPrompts:
			u.prompts.stale.Store(true)
		case mcp.MethodListResources:
			u.resources.stale.Store(true)
			// templates and skills have no notification of their own
			u.templates.stale.Store(true)
			u.skills.stale.Store(true)
		}
		u.notify()
	}
}

// notify wakes run. It does not block.
func (u *upstreamServer) notify() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// run lists the server and keeps its lists and subscriptions current.
func (u *upstreamServer) run() {
	defer close(u.done)
	var subscribing sync.WaitGroup
	subscribing.Go(u.keepSubscribed)
	defer subscribing.Wait()
	if u.disabled.Load() || !u.loadCache() {
		u.update()
	}
	u.g.serverListed(u.id)
	close(u.listedOnce)
	for {
		select {
		case <-u.recheck:
			for _, s := range u.lists {
				s.recheck()
			}
		case <-u.wake:
			u.update()
		case done := <-u.refreshes:
			done <- u.sync()
		case <-u.ctx.Done():
			return
		}
	}
}

// update brings the lists up to date, or withdraws them if the server is disabled.
func (u *upstreamServer) update() {
	if u.disabled.Load() {
		u.withdraw()
		return
	}
	if u.reenabled.Swap(false) && u.loadCache() {
		return
	}
	if err := u.sync(); err != nil && u.ctx.Err() == nil && !errors.Is(err, host.ErrDisabled) {
		u.warn("the lists of a server cannot be fetched", err)
	}
}

func (u *upstreamServer) warn(message string, err error) {
	u.g.o.Logger.Warn("gateway: "+message, slog.String("server", u.id), slog.Any("error", err))
}

// sync starts the server if necessary, fetches the lists that have changed and offers them.
func (u *upstreamServer) sync() error {
	ctx, cancel := context.WithTimeout(u.ctx, listTimeout)
	defer cancel()
	return u.g.manager.Use(ctx, u.id, "", true, func(c *client.Client) error {
		for _, s := range u.lists {
			if err := s.sync(ctx, c, c != u.listed.Load()); err != nil {
				return err
			}
		}
		u.listed.Store(c)
		u.known.Store(true)
		u.saveCache(c.ServerInfo().Name)
		return nil
	})
}

// downstreamServers returns the servers that offer the lists of u.
func (u *upstreamServer) downstreamServers() []*server.Server {
	return u.g.downstreamServersOf(u.id)
}

// updated sends resources/updated for a URI to the downstream servers where it belongs to u or to
// no server.
func (u *upstreamServer) updated(uri string) {
	uri = u.publicURI(uri)
	for _, d := range u.g.allDownstreams() {
		if owner := u.g.ownerOf(d, uri); d.includes(u.id) && (owner == u || owner == nil) {
			d.server.ResourceUpdated(uri)
		}
	}
}

// withdraw withdraws all items of the server.
func (u *upstreamServer) withdraw() {
	g := u.g
	defer g.lockOffers()()
	var affected []string
	for _, s := range u.lists {
		affected = append(affected, s.withdraw()...)
	}
	g.updateOffers(append(g.upstreamsByID(affected), u))
	u.listed.Store(nil)
}

// isWaiting reports whether an item waits until earlier servers are listed.
func (u *upstreamServer) isWaiting() bool {
	for _, s := range u.lists {
		if s.isWaiting() {
			return true
		}
	}
	return false
}

// listTimeout limits the start of a server and the fetch of its lists.
const listTimeout = 2 * time.Minute
