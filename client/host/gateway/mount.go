package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
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
	ctx        context.Context
	cancel     context.CancelFunc
	done       chan struct{}
	wake       chan struct{} // capacity 1
	gone       atomic.Bool   // the server has failed, or is disabled

	// Of the goroutine, and of who has waited for its end.
	listed *client.Client              // whose list it is that is offered
	fresh  atomic.Pointer[[]*mcp.Tool] // a list that has come since then
	all    []*mcp.Tool                 // that list
	tools  map[string]string           // what is offered of it: definitions, by their public names
	short  atomic.Bool                 // something is left out, as its name is another's
}

// look has the goroutine look whether something has changed.
func (m *mount) look() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// wantChanges has a client tell of changes.
func (m *mount) wantChanges(o *client.Options) {
	o.OnToolsChanged = func(tools []*mcp.Tool, err error) {
		if err != nil {
			m.warn("a server has not said what has changed", err)
			return
		}
		m.fresh.Store(&tools)
		m.look()
	}
}

func (m *mount) run() {
	defer close(m.done)
	for {
		select {
		case <-m.wake:
		case <-m.ctx.Done():
			return
		}
		if m.gone.Load() {
			m.withdraw()
			continue
		}
		if err := m.sync(); err != nil && m.ctx.Err() == nil {
			m.warn("a server has not said what it has", err)
		}
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
		fresh := m.fresh.Swap(nil)
		if c == m.listed {
			if fresh != nil {
				m.all = *fresh
			}
			if fresh != nil || m.short.Load() {
				m.offer(m.all)
			}
			return nil
		}
		var tools []*mcp.Tool
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
			tools = append(tools, tool)
		}
		m.offer(tools)
		m.all, m.listed = tools, c
		return nil
	})
}

// offer has the gateway's server offer these tools, and no others of this mount.
func (m *mount) offer(tools []*mcp.Tool) {
	now := make(map[string]string, len(tools))
	m.short.Store(false)
	freed := false
	for _, tool := range tools {
		if !m.filter.Allows(tool.Name) {
			continue
		}
		public := host.PublicName(m.id, tool.Name, m.g.o.MaxName)
		if other, ok := m.g.own(public, owner{m.id, tool.Name}); !ok {
			m.short.Store(true)
			m.g.o.Logger.Warn("gateway: a tool is left out, as another has its name", slog.String("name", public),
				slog.String("server", m.id), slog.String("tool", tool.Name), slog.String("other_server", other.id), slog.String("other_tool", other.tool))
			continue
		}
		definition, _ := mcp.Marshal(tool)
		now[public] = string(definition)
		if m.tools[public] == string(definition) {
			continue
		}
		if err := m.g.server.AddTool(m.tool(public, tool)); err != nil {
			m.g.o.Logger.Warn("gateway: a tool is left out", slog.String("server", m.id), slog.String("tool", tool.Name), slog.Any("error", err))
			delete(now, public)
		}
	}
	for public := range m.tools {
		if _, still := now[public]; !still {
			m.g.server.RemoveTools(public)
			m.g.disown(public)
			freed = true
		}
	}
	m.tools = now
	if freed {
		m.g.fillIn(m)
	}
}

// withdraw takes away what is offered.
func (m *mount) withdraw() {
	m.offer(nil)
	m.all, m.listed = nil, nil
}

// tool makes of a tool of the server one of the gateway.
func (m *mount) tool(public string, t *mcp.Tool) server.Tool {
	own := *t
	own.Name = public
	own.Description = "[" + m.id + "] " + t.Description
	own.InputSchema = t.InputSchema
	u := upstream{id: m.id, tool: t.Name, idempotent: t.Annotations.Idempotent()}
	return server.Tool{Tool: own, Forward: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		u := u
		if m.perSession {
			u.session = server.PrincipalFrom(ctx)
		}
		return m.g.forward(ctx, u, arguments)
	}}
}

// own makes a name that of a tool, unless it is another's.
func (g *Gateway) own(public string, o owner) (whose owner, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other, taken := g.owners[public]; taken && other != o {
		return other, false
	}
	g.owners[public] = o
	return o, true
}

// fillIn has those mounts look that have something left out, because a name has become free.
func (g *Gateway) fillIn(changed *mount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.mounts {
		if m != changed && m.short.Load() {
			m.look()
		}
	}
}

func (g *Gateway) disown(public string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.owners, public)
}
