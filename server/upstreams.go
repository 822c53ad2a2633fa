package server

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Upstreams are the functions of a gateway for what clients use beyond the items that it has added;
// see [Integration.SetUpstreams]. Each may be nil, and must be safe for concurrent use. The errors
// follow the rules of [Resource].Read.
type Upstreams struct {
	// Read reads a URI that neither is a resource of this server nor matches a template: a resource
	// link in a result need not be in any list (2026-07-28, server/tools, Resource Links). Its
	// result is like that of [Item].Use; for an unknown URI it returns [ResourceNotFound].
	Read func(ctx context.Context, uri string) (json.RawMessage, error)

	// Await is called when a client uses a tool or prompt that this server does not have, and
	// waits for servers that are still starting. When it returns nil, the server looks the name up
	// once more.
	Await func(ctx context.Context, kind mcp.Kind, name string) error

	// Missing is called for each page of a list. It returns the IDs of the servers whose items of
	// the kind are missing, in _meta of the result (see [mcp.MetaPartial]), whose ttlMs is then 0;
	// or nil if the list is complete. It must not block.
	Missing func(kind mcp.Kind) []string

	// ResolveForApp converts the tool names and resource URIs that an app uses, which are those of
	// its own server, to those of the gateway. It is called for a tools/call or resources/read of a
	// client with apps whose _meta names the app (see [mcp.MetaApp]) and, with app "", for a
	// tools/call with an unknown name. It returns the name or URI to use; an error answers the
	// request.
	ResolveForApp func(ctx context.Context, app string, kind mcp.Kind, name string) (string, error)
}

// awaitMissing calls the function Await, if it is set and the client may see an item with this key.
func (r *request) awaitMissing(kind mcp.Kind, key []byte) error {
	s := r.conn.server
	if await := s.upstreams.Load().Await; await != nil && s.visible(r, kind, string(key)) {
		return await(r, kind, string(key))
	}
	return nil
}

// missingServers returns the servers whose items of a kind are missing, or nil.
func (s *Server) missingServers(kind mcp.Kind) []string {
	if missing := s.upstreams.Load().Missing; missing != nil {
		return missing(kind)
	}
	return nil
}
