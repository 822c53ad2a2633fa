package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// owner returns the server that answers for a URI at f: the first in order that lists it or a
// template for it, or nil. The error says that it is withheld.
func (g *Gateway) owner(f *downstream, uri string) (*upstreamServer, error) {
	id, by, found := g.names.reader(uri, f.includes)
	g.mu.Lock()
	m := g.upstreams[id]
	g.mu.Unlock()
	if !found || m == nil {
		return nil, nil
	}
	standing := m.resources.status
	if by.kind == kindTemplate {
		standing = m.templates.status
	}
	switch offered, reason := standing(by.public); {
	case reason == ReasonChanged || reason == ReasonAnother:
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"The %s %q of the server %q is withheld: it is not what it was when it was first used",
			by.kind, by.public, id)
	case !offered && g.names.waitsForAhead(id, f.includes):
		return nil, server.ResourceNotFound(uri)
	}
	return m, nil
}

// readMatched reads a URI that a template of m matches at s, from the server that the URI belongs
// to.
func (m *upstreamServer) readMatched(ctx context.Context, s *server.Server,
	uri string) (*mcp.ReadResourceResult, error) {
	for _, f := range m.g.allDownstreams() {
		if f.server != s {
			continue
		}
		owner, err := m.g.owner(f, uri)
		if err != nil {
			return nil, err
		}
		if owner != nil {
			return owner.read(ctx, uri)
		}
	}
	return m.read(ctx, uri)
}

// readUnlisted reads a URI that no list at f contains, such as a link in a result. It asks the
// server that has the URI withheld as new, or the only server; otherwise those that have URIs of
// its scheme, in order.
func (g *Gateway) readUnlisted(ctx context.Context, f *downstream,
	uri string) (*mcp.ReadResourceResult, error) {
	m, err := g.owner(f, uri)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = g.onlyUpstream(f)
	}
	if m != nil {
		return m.readUnlisted(ctx, uri)
	}
	what, id, _ := stateFrom(ctx)
	for _, m := range g.candidates(f, uri) {
		if what != "" && m.id != id { // the answer is not for this one
			continue
		}
		result, err := m.read(ctx, uri)
		if errors.Is(err, ErrNoSession) { // it is nothing to this client
			continue
		}
		if what != "" || !isNotFound(err) {
			return result, err
		}
	}
	return nil, server.ResourceNotFound(uri)
}

// readUnlisted reads a URI that only this server can have, and returns its error unchanged.
func (m *upstreamServer) readUnlisted(ctx context.Context, uri string) (*mcp.ReadResourceResult,
	error) {
	result, err := m.read(ctx, uri)
	if _, undeclared := errors.AsType[*client.UndeclaredError](err); undeclared {
		return nil, server.ResourceNotFound(uri)
	}
	return result, err
}

// isNotFound reports whether a server refused a read because it does not have the resource or has
// no resources.
func isNotFound(err error) bool {
	refusal, refused := errors.AsType[*rpc.Error](err)
	_, undeclared := errors.AsType[*client.UndeclaredError](err)
	return undeclared || refused &&
		(refusal.Code == mcp.CodeResourceNotFound || refusal.Code == rpc.CodeInvalidParams ||
			refusal.Code == rpc.CodeMethodNotFound)
}

// candidates returns the servers of f that may have a URI, in order, without those behind a server
// that is not listed yet.
func (g *Gateway) candidates(f *downstream, uri string) (likely []*upstreamServer) {
	ids := g.names.serversByScheme(uri, f.includes)
	if all := slices.DeleteFunc(g.manager.IDs(),
		func(id string) bool { return !f.includes(id) }); len(all) == 1 {
		ids = all
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if m := g.upstreams[id]; m != nil && !g.names.waitsForAhead(id, f.includes) {
			likely = append(likely, m)
		}
	}
	return likely
}
