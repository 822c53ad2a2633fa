package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// readUnlisted reads what no server lists: a link in a result, or what has come a moment ago. Of a front's servers those are asked that have others of its scheme, one after
// another; or the only one that there is.
func (g *Gateway) readUnlisted(ctx context.Context, f *front, uri string) (*mcp.ReadResourceResult, error) {
	if id := f.only(); id != "" {
		return g.readUnlistedOf(ctx, id, uri)
	}
	what, id, _ := stateFrom(ctx)
	for _, m := range g.likely(f, uri) {
		if what != "" && m.id != id { // the answer is not for this one
			continue
		}
		result, err := m.read(ctx, uri)
		if what != "" || !hasNot(err) {
			return result, err
		}
	}
	return nil, server.ResourceNotFound(uri)
}

// readUnlistedOf reads what only one server can have: nobody else can get an answer that it has asked for, and what it says when it has not got it is the client's.
func (g *Gateway) readUnlistedOf(ctx context.Context, id, uri string) (*mcp.ReadResourceResult, error) {
	g.mu.Lock()
	m := g.mounts[id]
	g.mu.Unlock()
	if m == nil {
		return nil, server.ResourceNotFound(uri)
	}
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

// likely are the servers of a front that may have a resource, in the order in which they were added.
func (g *Gateway) likely(f *front, uri string) (likely []*mount) {
	scheme, _, _ := strings.Cut(uri, ":")
	ids := slices.DeleteFunc(g.manager.IDs(), func(id string) bool { return !f.includes(id) })
	g.mu.Lock()
	defer g.mu.Unlock()
	var owners []string
	for n, o := range g.owners {
		if (n.kind == kindResource || n.kind == kindTemplate) && strings.HasPrefix(n.public, scheme+":") {
			owners = append(owners, o.id)
		}
	}
	for _, id := range ids {
		if m := g.mounts[id]; m != nil && (len(ids) == 1 || slices.Contains(owners, id)) {
			likely = append(likely, m)
		}
	}
	return likely
}
