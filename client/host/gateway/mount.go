package gateway

import (
	"cmp"
	"context"
	"encoding/json"
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

// A mount is a server of the gateway's, and what it has. One goroutine looks after it.
type mount struct {
	g          *Gateway
	id         string
	filter     host.Filter
	perSession bool
	digest     string
	saved      []byte // what is remembered
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{}
	wake       chan struct{}  // capacity 1
	looked     chan struct{}  // closed when the server was looked at for the first time, whatever came of it
	gone       atomic.Bool    // the server has failed, or is disabled
	listed     *client.Client // whose lists are offered; of the goroutine
	pinned     time.Time      // when its tools were pinned, if it was now; of the goroutine

	maxArguments, maxResult int // bytes

	watch watch

	tools     *shelf[*mcp.Tool]
	prompts   *shelf[*mcp.Prompt]
	resources *shelf[*mcp.Resource]
	templates *shelf[*mcp.ResourceTemplate]
	shelves   []interface { // all of them
		sync(ctx context.Context, c *client.Client, anew bool) error
		withdraw()
		isShort() bool
	}
}

func (g *Gateway) newMount(s *host.Server) *mount {
	m := &mount{g: g, id: s.ID, filter: s.Filter, perSession: s.PerSession, digest: s.Digest, wake: make(chan struct{}, 1), looked: make(chan struct{}), done: make(chan struct{})}
	m.gone.Store(s.Disabled) // until it is enabled
	m.maxArguments, m.maxResult = cmp.Or(s.MaxArguments, defaultMaxArguments), cmp.Or(s.MaxResult, defaultMaxResult)
	m.watch.changed = make(chan struct{}, 1)
	m.ctx, m.cancel = context.WithCancel(g.ctx)
	public := func(own string) string { return host.PublicName(m.id, own, g.o.MaxName) }
	m.tools = &shelf[*mcp.Tool]{m: m, kind: kindTool, admit: m.admit, put: m.putTool, remove: g.server.RemoveTools,
		list: func(ctx context.Context, c *client.Client) ([]*mcp.Tool, error) { return collect(c.Tools(ctx)) },
		name: func(t *mcp.Tool) (string, string) {
			if !m.filter.Allows(t.Name) {
				return t.Name, ""
			}
			return t.Name, public(t.Name)
		}}
	m.prompts = &shelf[*mcp.Prompt]{m: m, kind: kindPrompt, put: m.putPrompt, remove: g.server.RemovePrompts,
		list: func(ctx context.Context, c *client.Client) ([]*mcp.Prompt, error) { return collect(c.Prompts(ctx)) },
		name: func(p *mcp.Prompt) (string, string) { return p.Name, public(p.Name) }}
	m.resources = &shelf[*mcp.Resource]{m: m, kind: kindResource, put: m.putResource, remove: g.server.RemoveResources,
		list: func(ctx context.Context, c *client.Client) ([]*mcp.Resource, error) { return collect(c.Resources(ctx)) },
		name: func(r *mcp.Resource) (string, string) { return r.URI, r.URI }}
	m.templates = &shelf[*mcp.ResourceTemplate]{m: m, kind: kindTemplate, put: m.putTemplate, remove: g.server.RemoveResourceTemplates,
		list: func(ctx context.Context, c *client.Client) ([]*mcp.ResourceTemplate, error) {
			return collect(c.ResourceTemplates(ctx))
		},
		name: func(t *mcp.ResourceTemplate) (string, string) { return t.URITemplate, t.URITemplate }}
	m.shelves = append(m.shelves, m.tools, m.prompts, m.resources, m.templates)
	return m
}

// wantChanges has a client tell of changes.
func (m *mount) wantChanges(o *client.Options) {
	o.OnResourceUpdated = m.g.server.ResourceUpdated
	o.OnToolsChanged = m.tools.changed
	o.OnPromptsChanged = m.prompts.changed
	o.OnResourcesChanged = func(resources []*mcp.Resource, err error) {
		m.templates.stale.Store(true) // which is told in the same way
		m.resources.changed(resources, err)
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
	if m.gone.Load() || !m.recall() {
		m.update()
	}
	close(m.looked)
	for {
		select {
		case <-m.wake:
		case <-m.ctx.Done():
			return
		}
		m.update()
	}
}

// update offers what the server has now.
func (m *mount) update() {
	if m.gone.Load() {
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
		m.remember(c.ServerInfo().Name)
		return nil
	})
}

// withdraw takes away what is offered.
func (m *mount) withdraw() {
	for _, s := range m.shelves {
		s.withdraw()
	}
	m.listed = nil
}

// isShort reports whether something is left out, as its name is another's.
func (m *mount) isShort() bool {
	for _, s := range m.shelves {
		if s.isShort() {
			return true
		}
	}
	return false
}

// upstream is something of the server's for the client of a request.
func (m *mount) upstream(ctx context.Context, own string, idempotent bool) upstream {
	u := upstream{id: m.id, name: own, idempotent: idempotent, maxArguments: m.maxArguments, maxResult: m.maxResult}
	if m.perSession {
		u.session = server.PrincipalFrom(ctx)
	}
	return u
}

func (m *mount) describe(description string) string { return "[" + m.id + "] " + description }

func (m *mount) putTool(public string, t *mcp.Tool) error {
	own := *t
	own.Name, own.Description = public, m.describe(t.Description)
	name, idempotent := t.Name, t.Annotations.Idempotent()
	return m.g.server.AddTool(server.Tool{Tool: own, Forward: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		return m.g.call(ctx, m.upstream(ctx, name, idempotent), arguments)
	}})
}

func (m *mount) putPrompt(public string, p *mcp.Prompt) error {
	own := *p
	own.Name, own.Description = public, m.describe(p.Description)
	name := p.Name
	return m.g.server.AddPrompt(server.Prompt{Prompt: own,
		Get: func(ctx context.Context, arguments map[string]string) (result *mcp.GetPromptResult, err error) {
			text, err := mcp.Marshal(arguments)
			if err != nil {
				return nil, err
			}
			c := &call{kind: kindPrompt, u: m.upstream(ctx, name, true), Event: Event{Arguments: text}}
			err = m.g.ask(ctx, c, func(c *client.Client, opts []client.CallOption) (any, error) {
				result, err = c.GetPrompt(ctx, name, arguments, opts...)
				return result, err
			})
			return result, err
		},
		Complete: m.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}),
	})
}

func (m *mount) putResource(_ string, r *mcp.Resource) error {
	return m.g.server.AddResource(server.Resource{Resource: *r, Read: m.read})
}

func (m *mount) putTemplate(_ string, t *mcp.ResourceTemplate) error {
	return m.g.server.AddResourceTemplate(server.ResourceTemplate{ResourceTemplate: *t,
		Read: func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			return m.read(ctx, uri)
		},
		Complete: m.complete(mcp.CompleteReference{Type: mcp.RefResource, URI: t.URITemplate}),
	})
}

func (m *mount) read(ctx context.Context, uri string) (result *mcp.ReadResourceResult, err error) {
	c := &call{kind: kindResource, u: m.upstream(ctx, uri, true)}
	err = m.g.ask(ctx, c, func(c *client.Client, opts []client.CallOption) (any, error) {
		result, err = c.ReadResource(ctx, uri, opts...)
		return result, err
	})
	return result, err
}

// complete suggests what the server does; nothing, if it does not do that.
func (m *mount) complete(ref mcp.CompleteReference) server.Completer {
	return func(ctx context.Context, argument, typed string, settled map[string]string) (mcp.Completion, error) {
		var found mcp.Completion
		u := m.upstream(ctx, "", true)
		err := m.g.manager.Use(ctx, u.id, u.session, true, func(c *client.Client) error {
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
