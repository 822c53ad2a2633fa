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

// readUnlisted reads what no server lists: a link in a result, or what has come a moment ago. Those servers are asked that have others of its scheme, one after another; or the only one that there is.
func (g *Gateway) readUnlisted(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	if _, state := server.Inputs(ctx); state != "" {
		return nil, server.ResourceNotFound(uri) // whoever has asked for that must not have its answer go to another
	}
	for _, m := range g.likely(uri) {
		result, err := m.read(ctx, uri)
		if !hasNot(err) {
			return result, err
		}
	}
	return nil, server.ResourceNotFound(uri)
}

// hasNot reports whether a server has refused to read something because it does not have it: with one of the codes that servers use for that, or as it has no resources.
func hasNot(err error) bool {
	refusal, refused := errors.AsType[*rpc.Error](err)
	_, undeclared := errors.AsType[*client.UndeclaredError](err)
	return undeclared || refused && (refusal.Code == mcp.CodeResourceNotFound || refusal.Code == rpc.CodeInvalidParams || refusal.Code == rpc.CodeMethodNotFound)
}

// likely are the servers that may have a resource, in the order in which they were added.
func (g *Gateway) likely(uri string) (likely []*mount) {
	scheme, _, _ := strings.Cut(uri, ":")
	ids := g.manager.IDs()
	g.mu.Lock()
	defer g.mu.Unlock()
	var owners []string
	for n, o := range g.owners {
		if (n.kind == kindResource || n.kind == kindTemplate) && strings.HasPrefix(n.public, scheme+":") {
			owners = append(owners, o.id)
		}
	}
	for _, id := range ids {
		if m := g.mounts[id]; m != nil && (len(g.mounts) == 1 || slices.Contains(owners, id)) {
			likely = append(likely, m)
		}
	}
	return likely
}
