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

// A mount is a server of the gateway's, and what it has. One goroutine looks after it.
type mount struct {
	g          *Gateway
	id         string
	filter     host.Filter
	perSession bool
	answers    bool // who has added the server answers what it asks
	digest     string
	saved      []byte // what is remembered
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{}
	wake       chan struct{}     // capacity 1
	asked      chan chan<- error // who waits until the server is looked at; the channels have room for one
	looked     chan struct{}     // closed when the server was looked at for the first time, whatever came of it
	disabled   atomic.Bool
	known      atomic.Bool      // what the server has, or had the last time
	recheck    chan struct{}    // capacity 1: pins have changed
	listed     *client.Client   // whose lists are offered; of the goroutine
	level      mcp.LoggingLevel // from which on the server is to log anyway
	astray     atomic.Int64     // log messages of which nobody knows whose they are

	maxArguments, maxResult int // bytes

	watch watch

	tools     *shelf[mcp.Tool, *server.Server]
	prompts   *shelf[mcp.Prompt, *server.Server]
	resources *shelf[mcp.Resource, *server.Server]
	templates *shelf[mcp.ResourceTemplate, *server.Server]
	shelves   []interface { // all of them
		sync(ctx context.Context, c *client.Client, anew bool) error
		again()
		withdraw() (affected []string)
		shrink()
		grow()
		isWaiting() bool
		out() []Withheld
	}
}

func (g *Gateway) newMount(s *host.Server) *mount {
	m := &mount{g: g, id: s.ID, filter: s.Filter, perSession: s.PerSession, answers: s.Options.OnElicit != nil, digest: s.Digest, wake: make(chan struct{}, 1), asked: make(chan chan<- error), looked: make(chan struct{}), recheck: make(chan struct{}, 1), done: make(chan struct{})}
	m.disabled.Store(s.Disabled) // until it is enabled
	m.maxArguments, m.maxResult = cmp.Or(s.MaxArguments, defaultMax), cmp.Or(s.MaxResult, defaultMax)
	m.level = s.Options.LogLevel
	m.watch.changed = make(chan struct{}, 1)
	m.ctx, m.cancel = context.WithCancel(g.ctx)
	m.tools = &shelf[mcp.Tool, *server.Server]{m: m, fronts: m.fronts, kind: kindTool, shared: g.o.NoPrefix, list: (*client.Client).ToolDefinitions, put: m.putTool, remove: (*server.Server).RemoveTools,
		name: func(t *mcp.Tool) (string, string) {
			if !m.filter.Allows(t.Name) {
				return t.Name, ""
			}
			return t.Name, m.public(t.Name)
		}}
	if g.o.Catalog != nil {
		m.tools.also = m.newOperations(g.o.Catalog)
	}
	m.prompts = &shelf[mcp.Prompt, *server.Server]{m: m, fronts: m.fronts, kind: kindPrompt, shared: g.o.NoPrefix, list: (*client.Client).PromptDefinitions, put: m.putPrompt, remove: (*server.Server).RemovePrompts,
		name: func(p *mcp.Prompt) (string, string) { return p.Name, m.public(p.Name) }}
	m.resources = &shelf[mcp.Resource, *server.Server]{m: m, fronts: m.fronts, kind: kindResource, shared: true, list: (*client.Client).ResourceDefinitions, put: m.putResource, remove: (*server.Server).RemoveResources,
		name: func(r *mcp.Resource) (string, string) { return r.URI, r.URI }}
	m.templates = &shelf[mcp.ResourceTemplate, *server.Server]{m: m, fronts: m.fronts, kind: kindTemplate, shared: true, list: (*client.Client).ResourceTemplateDefinitions, put: m.putTemplate, remove: (*server.Server).RemoveResourceTemplates,
		name: func(t *mcp.ResourceTemplate) (string, string) { return t.URITemplate, t.URITemplate }}
	m.shelves = append(m.shelves, m.tools, m.prompts, m.resources, m.templates)
	return m
}

// wantChanges has a client tell of changes.
func (m *mount) wantChanges(o *client.Options) {
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
		m.look()
	}
}

// look has the goroutine look whether something has changed.
func (m *mount) look() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mount) run() {
	defer close(m.done)
	var watching sync.WaitGroup
	watching.Go(m.keepWatching)
	defer watching.Wait()
	if m.disabled.Load() || !m.recall() {
		m.update()
	}
	m.g.heard(m.id)
	close(m.looked)
	for {
		select {
		case <-m.recheck:
			for _, s := range m.shelves {
				s.again()
			}
		case <-m.wake:
			m.update()
		case done := <-m.asked:
			done <- m.sync()
		case <-m.ctx.Done():
			return
		}
	}
}

// update offers what the server has now.
func (m *mount) update() {
	if m.disabled.Load() {
		m.withdraw()
		return
	}
	if err := m.sync(); err != nil && m.ctx.Err() == nil && !errors.Is(err, host.ErrDisabled) {
		m.warn("a server has not said what it has", err)
	}
}

func (m *mount) warn(what string, err error) {
	m.g.o.Logger.Warn("gateway: "+what, slog.String("server", m.id), slog.Any("error", err))
}

// sync offers what the server has.
func (m *mount) sync() error {
	ctx, cancel := context.WithTimeout(m.ctx, listPatience)
	defer cancel()
	return m.g.manager.Use(ctx, m.id, "", true, func(c *client.Client) error {
		for _, s := range m.shelves {
			if err := s.sync(ctx, c, c != m.listed); err != nil {
				return err
			}
		}
		m.listed = c
		m.known.Store(true)
		m.remember(c.ServerInfo().Name)
		return nil
	})
}

// fronts are the servers that offer what this one has.
func (m *mount) fronts() []*server.Server { return m.g.frontsOf(m.id) }

// updated tells who watches a resource that it has changed, wherever it is not another server's.
func (m *mount) updated(uri string) {
	for _, f := range m.g.allFronts() {
		if owner := m.g.ownerOf(f, uri); f.includes(m.id) && (owner == m || owner == nil) {
			f.server.ResourceUpdated(uri)
		}
	}
}

// withdraw takes away all that the server has.
func (m *mount) withdraw() {
	g := m.g
	defer g.changing()()
	var affected []string
	for _, s := range m.shelves {
		affected = append(affected, s.withdraw()...)
	}
	g.arrange(append(g.mountsOf(affected), m))
	m.listed = nil
}

// isWaiting reports whether something may be offered when servers ahead have said what they have.
func (m *mount) isWaiting() bool {
	for _, s := range m.shelves {
		if s.isWaiting() {
			return true
		}
	}
	return false
}

// upstream is something of the server's for the client of a request.
func (m *mount) upstream(ctx context.Context, own string, idempotent bool) upstream {
	u := upstream{perSession: m.perSession, id: m.id, name: own, idempotent: idempotent, conn: server.ConnFrom(ctx), owner: ownerOf(ctx), level: m.level, maxArguments: m.maxArguments, maxResult: m.maxResult}
	if m.perSession && !u.stateless() {
		u.session = u.owner
	}
	return u
}

// public is what a tool or prompt is called by the gateway.
func (m *mount) public(own string) string {
	if m.g.o.NoPrefix {
		return own
	}
	return host.PublicName(m.id, own, m.g.o.MaxName)
}

// announce is the definition of a tool or prompt as the gateway's clients get it.
func (m *mount) announce(text json.RawMessage, own, public, description string) json.RawMessage {
	if !m.g.o.NoDescriptionPrefix {
		return renamed(text, public, "["+m.id+"] "+description)
	}
	if own == public {
		return text
	}
	return renamed(text, public, description)
}

func (m *mount) putTool(s *server.Server, public string, d definition[mcp.Tool]) error {
	offered := *d.item
	offered.Name = public
	name, idempotent := d.item.Name, d.item.Annotations.Idempotent()
	return s.AddTool(server.Tool{Tool: offered, NeedsSession: m.perSession, Definition: m.announce(d.passed, name, public, d.item.Description),
		Forward: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
			return m.g.call(ctx, m.upstream(ctx, name, idempotent), arguments)
		}})
}

func (m *mount) putPrompt(s *server.Server, public string, d definition[mcp.Prompt]) error {
	offered := *d.item
	offered.Name = public
	name := d.item.Name
	return s.AddPrompt(server.Prompt{Prompt: offered, NeedsSession: m.perSession, Definition: m.announce(d.passed, name, public, d.item.Description),
		Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			text, err := mcp.Marshal(arguments)
			if err != nil {
				return nil, err
			}
			c := &call{kind: kindPrompt, u: m.upstream(ctx, name, true), Event: Event{Arguments: text}}
			return ask(ctx, m.g, c, func(ctx context.Context, to *client.Client, opts ...client.CallOption) (*mcp.GetPromptResult, error) {
				return to.GetPrompt(ctx, name, arguments, opts...)
			})
		},
		Complete: m.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}),
	})
}

func (m *mount) putResource(s *server.Server, _ string, d definition[mcp.Resource]) error {
	return s.AddResource(server.Resource{Resource: *d.item, NeedsSession: m.perSession, Definition: d.passed, Read: m.read})
}

func (m *mount) putTemplate(s *server.Server, _ string, d definition[mcp.ResourceTemplate]) error {
	return s.AddResourceTemplate(server.ResourceTemplate{ResourceTemplate: *d.item, NeedsSession: m.perSession, Definition: d.passed,
		Read: func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			return m.readMatched(ctx, s, uri)
		},
		Complete: m.complete(mcp.CompleteReference{Type: mcp.RefResource, URI: d.item.URITemplate}),
	})
}

func (m *mount) read(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	c := &call{kind: kindResource, u: m.upstream(ctx, uri, true)}
	return ask(ctx, m.g, c, func(ctx context.Context, to *client.Client, opts ...client.CallOption) (*mcp.ReadResourceResult, error) {
		return to.ReadResource(ctx, uri, opts...)
	})
}

// complete suggests what the server does; nothing, if it does not do that.
func (m *mount) complete(ref mcp.CompleteReference) server.Completer {
	return func(ctx context.Context, argument, typed string, settled map[string]string) (mcp.Completion, error) {
		var found mcp.Completion
		u := m.upstream(ctx, "", true)
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
		return found, told(err)
	}
}
