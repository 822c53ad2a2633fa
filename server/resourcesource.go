package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A ResourceSource computes resources and templates when a client asks for them: for example the
// files of a directory or the rows of a table. Its functions must be safe for concurrent use. They
// get the context of the request, from which [dispatch.PrincipalFrom] returns the caller.
type ResourceSource struct {
	// List returns the resources to list, and ListTemplates the templates, in any order. The server
	// splits them into pages, so both are called for each page. An entry with an invalid URI, or
	// without a name, is logged and left out. If a resource or template with the same key was added
	// to the server, that one takes precedence. The error follows the rules of [Resource].Read. A
	// nil function lists nothing.
	List          func(ctx context.Context) ([]mcp.Resource, error)
	ListTemplates func(ctx context.Context) ([]mcp.ResourceTemplate, error)

	// Read is like [Resource].Read. It is called for each URI that belongs to no resource or
	// template of the server, whether List returns it or not, and must return [ResourceNotFound]
	// for a URI that does not exist. It is required.
	Read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)
}

// ResourceListChanged notifies clients that the results of [ResourceSource].List or ListTemplates
// have changed.
func (s *Server) ResourceListChanged() {
	s.notifyChange(changeNotification{method: mcp.NotificationResourceListChanged})
}

// setResourceSource checks Options.Resources, and declares resources for it.
func (s *Server) setResourceSource() {
	source := s.o.Resources
	if source == nil {
		return
	}
	if source.Read == nil {
		panic("server: Options.Resources needs Read")
	}
	s.resources.everUsed.Store(true)
}

// computed is the provider of the resources and templates that are computed: those of
// Options.Resources, and the URIs that only [Upstreams].Read knows.
type computed struct{ *Server }

func (c computed) list(ctx context.Context, kind mcp.Kind) (*listing, error) {
	source := c.o.Resources
	switch {
	case source == nil:
	case kind == mcp.KindResource && source.List != nil:
		all, err := source.List(ctx)
		return computedListing(c.Server, kind, all, err, func(r mcp.Resource) (string, error) {
			return r.URI, checkResource(r.URI, r.Name)
		})
	case kind == mcp.KindResourceTemplate && source.ListTemplates != nil:
		all, err := source.ListTemplates(ctx)
		return computedListing(c.Server, kind, all, err,
			func(t mcp.ResourceTemplate) (string, error) {
				_, err := checkTemplate(t.URITemplate, t.Name)
				return t.URITemplate, err
			})
	}
	return nil, nil
}

func (c computed) find(kind mcp.Kind, key []byte) *item {
	if kind != mcp.KindResource {
		return nil
	}
	uri := string(key)
	if read := c.computedRead(uri); read != nil {
		return unlistedResource(uri, nil, read)
	}
	return nil
}

// computedListing returns a listing of the valid elements of all.
func computedListing[E any](s *Server, kind mcp.Kind, all []E, err error,
	check func(E) (key string, err error)) (*listing, error) {
	if err != nil {
		return nil, err
	}
	items := make(map[string]*item, len(all))
	for _, e := range all {
		key, err := check(e)
		var definition []byte
		if err == nil {
			definition, err = mcp.Marshal(e)
		}
		if err != nil {
			s.log.Error("an entry of Options.Resources is not listed", "key", key, "error", err)
			continue
		}
		items[key] = newItem(kind, key, definition)
	}
	return newListing(items), nil
}

// computedRead returns the function that reads a URI that belongs to no item: that of
// Options.Resources, or else that of [Upstreams].Read; nil for none.
func (s *Server) computedRead(uri string) useFunc {
	source := s.o.Resources
	var unlisted useFunc
	if read := s.upstreams.Load().Read; read != nil {
		unlisted = (&Item{Use: func(ctx context.Context, uri string,
			_ json.RawMessage) (json.RawMessage, error) {
			return read(ctx, uri)
		}}).use(mcp.KindResource, uri)
	}
	switch {
	case source == nil:
		return unlisted
	case unlisted == nil:
		return reading(uri, source.Read)
	}
	return func(ctx context.Context, r *request, _ json.RawMessage) (*Result, error) {
		result, err := source.Read(ctx, uri)
		if _, none := errors.AsType[*notFound](err); none {
			return unlisted(ctx, r, nil)
		}
		return r.readResult(result, err)
	}
}
