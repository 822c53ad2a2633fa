package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstreamServer is one server of the gateway and its lists. One goroutine, run, keeps the lists
// current.
type upstreamServer struct {
	g                *Gateway
	id               string
	filter           host.Filter
	perSession       bool
	answersQuestions bool // the application has set OnElicit
	digest           string
	cached           []byte // content of the cache file
	ctx              context.Context
	cancel           context.CancelFunc
	done             chan struct{}
	wake             chan struct{}     // capacity 1
	refreshes        chan chan<- error // requests for a sync; each channel has room for one error
	listedOnce       chan struct{}     // closed after the first attempt to list
	disabled         atomic.Bool
	known            atomic.Bool      // the lists are known, from the server or from the cache
	recheck          chan struct{}    // capacity 1: pins have changed
	listed           *client.Client   // the client whose lists are offered; used by run only
	level            mcp.LoggingLevel // lowest level that the server always logs at
	ambiguousLogs    atomic.Int64     // log messages that belong to no single client

	maxArguments, maxResult int // bytes

	subscriptions subscriptions

	tools     *itemList[mcp.Tool, *server.Server]
	prompts   *itemList[mcp.Prompt, *server.Server]
	resources *itemList[mcp.Resource, *server.Server]
	templates *itemList[mcp.ResourceTemplate, *server.Server]
	lists     []interface { // all of them
		// sync fetches the lists that have changed and offers them.
		sync(ctx context.Context, c *client.Client, anew bool) error
		recheck()
		// withdraw removes everything that the server has from the lists.
		withdraw() (affected []string)
		removeStale()
		addMissing()
		// isWaiting reports whether some items wait for servers ahead of this one to be listed.
		isWaiting() bool
		withheldItems() []Withheld
	}
}

func (g *Gateway) newUpstream(s *host.Server) *upstreamServer {
	m := &upstreamServer{g: g, id: s.ID, filter: s.Filter, perSession: s.PerSession,
		answersQuestions: s.Options.OnElicit != nil, digest: s.Digest, wake: make(chan struct{}, 1),
		refreshes: make(chan chan<- error), listedOnce: make(chan struct{}),
		recheck: make(chan struct{}, 1), done: make(chan struct{})}
	m.disabled.Store(s.Disabled) // until it is enabled
	m.maxArguments, m.maxResult = cmp.Or(s.MaxArguments, defaultMax),
		cmp.Or(s.MaxResult, defaultMax)
	m.level = s.Options.LogLevel
	m.subscriptions.changed = make(chan struct{}, 1)
	m.ctx, m.cancel = context.WithCancel(g.ctx)
	m.tools = &itemList[mcp.Tool, *server.Server]{m: m, downstreams: m.downstreamServers,
		kind: kindTool, shared: g.o.NoPrefix, list: client.Integration.ToolDefinitions,
		add: m.putTool, remove: (*server.Server).RemoveTools,
		name: func(t *mcp.Tool) (string, string) {
			if !m.filter.Allows(t.Name) {
				return t.Name, ""
			}
			return t.Name, m.publicName(t.Name)
		}}
	if g.o.Catalog != nil {
		m.tools.operations = m.operationList(g.o.Catalog)
	}
	m.prompts = &itemList[mcp.Prompt, *server.Server]{m: m, downstreams: m.downstreamServers,
		kind: kindPrompt, shared: g.o.NoPrefix, list: client.Integration.PromptDefinitions,
		add: m.putPrompt, remove: (*server.Server).RemovePrompts,
		name: func(p *mcp.Prompt) (string, string) { return p.Name, m.publicName(p.Name) }}
	m.resources = &itemList[mcp.Resource, *server.Server]{m: m, downstreams: m.downstreamServers,
		kind: kindResource, shared: true, list: client.Integration.ResourceDefinitions,
		add: m.putResource, remove: (*server.Server).RemoveResources,
		name: func(r *mcp.Resource) (string, string) { return r.URI, r.URI }}
	m.templates = &itemList[mcp.ResourceTemplate, *server.Server]{m: m,
		downstreams: m.downstreamServers, kind: kindTemplate, shared: true,
		list: client.Integration.ResourceTemplateDefinitions, add: m.putTemplate,
		remove: (*server.Server).RemoveResourceTemplates,
		name: func(t *mcp.ResourceTemplate) (string, string) {
			return t.URITemplate, t.URITemplate
		}}
	m.lists = append(m.lists, m.tools, m.prompts, m.resources, m.templates)
	return m
}

// setChangeHandlers sets the handlers of change notifications.
func (m *upstreamServer) setChangeHandlers(o *client.Options) {
	o.OnResourceUpdated = m.updated
	o.OnListChanged = func(method string) {
		switch method {
		case mcp.MethodListTools:
			m.tools.stale.Store(true)
		case mcp.MethodListPrompts:
			m.prompts.stale.Store(true)
		case mcp.MethodListResources:
			m.resources.stale.Store(true)
			m.templates.stale.Store(true) // which is told in the same way
		}
		m.notify()
	}
}

// notify wakes run. It does not block.
func (m *upstreamServer) notify() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *upstreamServer) run() {
	defer close(m.done)
	var watching sync.WaitGroup
	watching.Go(m.keepSubscribed)
	defer watching.Wait()
	if m.disabled.Load() || !m.loadCache() {
		m.update()
	}
	m.g.serverListed(m.id)
	close(m.listedOnce)
	for {
		select {
		case <-m.recheck:
			for _, s := range m.lists {
				s.recheck()
			}
		case <-m.wake:
			m.update()
		case done := <-m.refreshes:
			done <- m.sync()
		case <-m.ctx.Done():
			return
		}
	}
}

// update brings the lists up to date, or withdraws them if the server is disabled.
func (m *upstreamServer) update() {
	if m.disabled.Load() {
		m.withdraw()
		return
	}
	if err := m.sync(); err != nil && m.ctx.Err() == nil && !errors.Is(err, host.ErrDisabled) {
		m.warn("a server has not said what it has", err)
	}
}

func (m *upstreamServer) warn(what string, err error) {
	m.g.o.Logger.Warn("gateway: "+what, slog.String("server", m.id), slog.Any("error", err))
}

// sync fetches the lists that have changed and offers them.
func (m *upstreamServer) sync() error {
	ctx, cancel := context.WithTimeout(m.ctx, listTimeout)
	defer cancel()
	return m.g.manager.Use(ctx, m.id, "", true, func(c *client.Client) error {
		for _, s := range m.lists {
			if err := s.sync(ctx, c, c != m.listed); err != nil {
				return err
			}
		}
		m.listed = c
		m.known.Store(true)
		m.saveCache(c.ServerInfo().Name)
		return nil
	})
}

// downstreamServers returns the servers that offer this one's lists.
func (m *upstreamServer) downstreamServers() []*server.Server {
	return m.g.downstreamServersOf(m.id)
}

// updated sends resources/updated for a URI to the downstream servers where it belongs to m or to
// no other server.
func (m *upstreamServer) updated(uri string) {
	for _, f := range m.g.allDownstreams() {
		if owner := m.g.ownerOf(f, uri); f.includes(m.id) && (owner == m || owner == nil) {
			f.server.ResourceUpdated(uri)
		}
	}
}

// withdraw removes everything that the server has from the lists.
func (m *upstreamServer) withdraw() {
	g := m.g
	defer g.lockOffers()()
	var affected []string
	for _, s := range m.lists {
		affected = append(affected, s.withdraw()...)
	}
	g.updateOffers(append(g.upstreamsByID(affected), m))
	m.listed = nil
}

// isWaiting reports whether some items wait for servers ahead of this one to be listed.
func (m *upstreamServer) isWaiting() bool {
	for _, s := range m.lists {
		if s.isWaiting() {
			return true
		}
	}
	return false
}

// target returns something of the server's for the client of the request in ctx.
func (m *upstreamServer) target(ctx context.Context, own string, idempotent bool) target {
	u := target{perSession: m.perSession, id: m.id, name: own, idempotent: idempotent,
		conn: server.ConnFrom(ctx), owner: ownerOf(ctx), level: m.level,
		maxArguments: m.maxArguments, maxResult: m.maxResult}
	if m.perSession && !u.isStateless() {
		u.session = u.owner
	}
	return u
}

// publicName returns the gateway's name for a tool or prompt.
func (m *upstreamServer) publicName(own string) string {
	if m.g.o.NoPrefix {
		return own
	}
	return host.PublicName(m.id, own, m.g.o.MaxName)
}

// publicDefinition returns the definition of a tool or prompt as the gateway's clients see it.
func (m *upstreamServer) publicDefinition(text json.RawMessage, own, public,
	description string) json.RawMessage {
	if !m.g.o.NoDescriptionPrefix {
		return withName(text, public, "["+m.id+"] "+description)
	}
	if own == public {
		return text
	}
	return withName(text, public, description)
}

func (m *upstreamServer) putTool(s *server.Server, public string, d definition[mcp.Tool]) error {
	offered := *d.item
	offered.Name = public
	name, idempotent := d.item.Name, d.item.Annotations.Idempotent()
	return s.AddRawTool(
		server.RawTool{Tool: offered, NeedsSession: m.perSession,
			Definition: m.publicDefinition(d.passed, name, public, d.item.Description),
			Forward: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				return m.g.callTool(ctx, m.target(ctx, name, idempotent), arguments)
			}})
}

func (m *upstreamServer) putPrompt(s *server.Server, public string,
	d definition[mcp.Prompt]) error {
	offered := *d.item
	offered.Name = public
	name := d.item.Name
	return s.AddPrompt(
		server.Prompt{Prompt: offered, NeedsSession: m.perSession,
			Definition: m.publicDefinition(d.passed, name, public, d.item.Description),
			Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult,
				error) {
				text, err := mcp.Marshal(arguments)
				if err != nil {
					return nil, err
				}
				c := &call{kind: kindPrompt, u: m.target(ctx, name, true),
					Event: Event{Arguments: text}}
				return forwardTyped(ctx, m.g, c,
					func(ctx context.Context, to *client.Client,
						opts ...client.CallOption) (*mcp.GetPromptResult, error) {
						return to.GetPrompt(ctx, name, arguments, opts...)
					})
			},
			Complete: m.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}),
		})
}

func (m *upstreamServer) putResource(s *server.Server, _ string, d definition[mcp.Resource]) error {
	return s.AddResource(
		server.Resource{Resource: *d.item, NeedsSession: m.perSession, Definition: d.passed,
			Read: m.read})
}

func (m *upstreamServer) putTemplate(s *server.Server, _ string,
	d definition[mcp.ResourceTemplate]) error {
	return s.AddResourceTemplate(
		server.ResourceTemplate{ResourceTemplate: *d.item, NeedsSession: m.perSession,
			Definition: d.passed,
			Read: func(ctx context.Context, uri string,
				_ map[string]string) (*mcp.ReadResourceResult, error) {
				return m.readMatched(ctx, s, uri)
			},
			Complete: m.complete(
				mcp.CompleteReference{Type: mcp.RefResource, URI: d.item.URITemplate}),
		})
}

func (m *upstreamServer) read(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	c := &call{kind: kindResource, u: m.target(ctx, uri, true)}
	return forwardTyped(ctx, m.g, c,
		func(ctx context.Context, to *client.Client,
			opts ...client.CallOption) (*mcp.ReadResourceResult, error) {
			return to.ReadResource(ctx, uri, opts...)
		})
}

// complete returns a completer that asks the server. It suggests nothing if the server has no
// completion.
func (m *upstreamServer) complete(ref mcp.CompleteReference) server.Completer {
	return func(ctx context.Context, argument, typed string,
		settled map[string]string) (mcp.Completion, error) {
		var found mcp.Completion
		u := m.target(ctx, "", true)
		err := m.g.use(ctx, &u, false, func(c *client.Client) error {
			completion, err := c.Complete(ctx, ref, argument, typed, settled)
			if err == nil {
				found = *completion
			}
			return err
		})
		if _, none := errors.AsType[*client.UndeclaredError](err); none {
			return mcp.Completion{Values: []string{}}, nil
		}
		return found, clientError(err)
	}
}
