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

// owner returns who answers for a URI at a front: of its servers, the first in order that has it,
// or a template for it. It is nil if none has. The error says that it is withheld.
func (g *Gateway) owner(f *front, uri string) (*mount, error) {
	id, by, found := g.claims.reads(uri, f.includes)
	g.mu.Lock()
	m := g.mounts[id]
	g.mu.Unlock()
	if !found || m == nil {
		return nil, nil
	}
	standing := m.resources.standing
	if by.kind == kindTemplate {
		standing = m.templates.standing
	}
	switch offered, reason := standing(by.public); {
	case reason == ReasonChanged || reason == ReasonAnother:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "The %s %q of the server %q is withheld: it is not what it was when it was first used", by.kind, by.public, id)
	case !offered && g.claims.waits(id, f.includes):
		return nil, server.ResourceNotFound(uri)
	}
	return m, nil
}

// readMatched reads what a template of the mount at a front stands for, unless it is another
// server's.
func (m *mount) readMatched(ctx context.Context, s *server.Server, uri string) (*mcp.ReadResourceResult, error) {
	for _, f := range m.g.allFronts() {
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

// readUnlisted reads what no server lists at a front: a link in a result, or what has come a moment
// ago. If one of the front's servers has it all the same, as it is new and not accepted yet, that
// one is asked, or the only one that there is; otherwise those that have others of its scheme, in
// order.
func (g *Gateway) readUnlisted(ctx context.Context, f *front, uri string) (*mcp.ReadResourceResult, error) {
	m, err := g.owner(f, uri)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = g.onlyOf(f)
	}
	if m != nil {
		return m.readUnlisted(ctx, uri)
	}
	what, id, _ := stateFrom(ctx)
	for _, m := range g.likely(f, uri) {
		if what != "" && m.id != id { // the answer is not for this one
			continue
		}
		result, err := m.read(ctx, uri)
		if errors.Is(err, ErrNoSession) { // it is nothing to this client
			continue
		}
		if what != "" || !hasNot(err) {
			return result, err
		}
	}
	return nil, server.ResourceNotFound(uri)
}

// readUnlisted reads what only one server can have: nobody else can get an answer that it has asked
// for, and what it says when it has not got it is the client's.
func (m *mount) readUnlisted(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	result, err := m.read(ctx, uri)
	if _, undeclared := errors.AsType[*client.UndeclaredError](err); undeclared {
		return nil, server.ResourceNotFound(uri)
	}
	return result, err
}

// hasNot reports whether a server has refused to read something because it does not have it: with one of the codes that servers use for that, or as it has no resources.
func hasNot(err error) bool {
	refusal, refused := errors.AsType[*rpc.Error](err)
	_, undeclared := errors.AsType[*client.UndeclaredError](err)
	return undeclared || refused && (refusal.Code == mcp.CodeResourceNotFound || refusal.Code == rpc.CodeInvalidParams || refusal.Code == rpc.CodeMethodNotFound)
}

// likely are the servers of a front that may have a resource, in order: but for those behind one
// that has not said yet what it has.
func (g *Gateway) likely(f *front, uri string) (likely []*mount) {
	ids := g.claims.scheme(uri, f.includes)
	if all := slices.DeleteFunc(g.manager.IDs(), func(id string) bool { return !f.includes(id) }); len(all) == 1 {
		ids = all
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if m := g.mounts[id]; m != nil && !g.claims.waits(id, f.includes) {
			likely = append(likely, m)
		}
	}
	return likely
}
