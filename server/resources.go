package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
)

// A Resource is a piece of data that clients can read (2026-07-28, server/resources).
type Resource struct {
	mcp.Resource

	// Read returns the contents. The result's CacheHints say how long and for whom caches may store
	// them; without hints, caches may not. If the error is or wraps an [*rpc.Error], that is sent
	// to the client. So is the message of a [*dispatch.Error], with the code of [ResourceNotFound]
	// for [dispatch.NotFound], -32602 for [dispatch.InvalidInput] and [dispatch.MissingParam], and
	// else -32603. Any other error is logged, and the client gets -32603 without its text, unless
	// [Options].ShowErrors shows it. A panic is logged, too. Read must be safe for concurrent use.
	Read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)

	Extension string // like that of [RawTool]
}

// A ResourceTemplate describes a set of resources whose URIs match a template (RFC 6570, all
// levels).
type ResourceTemplate struct {
	mcp.ResourceTemplate

	// Read is like [Resource].Read. values are the values of the template's variables, with
	// percent-encoding decoded.
	Read func(ctx context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult,
		error)

	// Complete suggests values for a variable; nil: no suggestions.
	Complete Completer

	Extension string // like that of [RawTool]
}

var errNoRead = errors.New("it needs Read")

// AddResource adds a resource, or replaces the one with the same URI. It fails if the URI is not
// absolute, Name is empty or Read is nil.
func (s *Server) AddResource(r Resource) error {
	err := checkResource(r.URI, r.Name)
	if err == nil && r.Read == nil {
		err = errNoRead
	}
	definition, encodeErr := mcp.Marshal(r.Resource)
	if err = errors.Join(err, encodeErr); err != nil {
		return itemError(mcp.KindResource, r.URI, err)
	}
	i := newItem(mcp.KindResource, r.URI, definition)
	i.Extension, i.use = r.Extension, reading(r.URI, r.Read)
	s.add(i)
	return nil
}

// AddResourceTemplate adds a resource template, or replaces the one with the same URI template. It
// fails if the URI template is invalid, Name is empty or Read is nil.
func (s *Server) AddResourceTemplate(t ResourceTemplate) error {
	parsed, err := checkTemplate(t.URITemplate, t.Name)
	if err == nil && t.Read == nil {
		err = errNoRead
	}
	definition, encodeErr := mcp.Marshal(t.ResourceTemplate)
	if err = errors.Join(err, encodeErr); err != nil {
		return itemError(mcp.KindResourceTemplate, t.URITemplate, err)
	}
	i := newItem(mcp.KindResourceTemplate, t.URITemplate, definition)
	i.Extension, i.complete = t.Extension, t.Complete
	i.template = &template{parsed, func(uri string, values map[string]string) useFunc {
		return reading(uri, func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return t.Read(ctx, uri, values)
		})
	}}
	s.add(i)
	return nil
}

// templateMatches is the provider of the resources whose URIs match a template.
type templateMatches struct {
	unlisted
	*templates
}

func (t templateMatches) Find(_ context.Context, _ mcp.Kind, key []byte) *item {
	return t.resource(string(key))
}

// uri returns the param uri, which must be a string.
func (r *request) uri() (string, error) {
	uri, ok := jsonscan.Text(r.params.Get(paramURI))
	if !ok || uri == "" {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: uri is required and must be a string")
	}
	return uri, nil
}

var paramURI = []byte("uri")

// A readFunc reads a resource.
type readFunc func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)

// findResource returns the resource with a URI.
func (r *request) findResource(uri string) (*item, error) {
	found, _ := r.lookUp(mcp.KindResource, []byte(uri))
	if found == nil {
		return nil, (&notFound{uri}).in(r.era)
	}
	return found, nil
}

// readResource answers resources/read.
func readResource(r *request) (*Result, error) {
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	if r.params.Meta.App != nil {
		if uri, err = r.resolveForApp(mcp.KindResource, uri); err != nil {
			return r.handlerError(err)
		}
	}
	found, err := r.findResource(uri)
	if err != nil {
		return nil, err
	}
	return r.use(found, nil)
}

// reading returns the [useFunc] of a resource.
func reading(uri string, read readFunc) useFunc {
	return func(ctx context.Context, r *request, _ json.RawMessage) (*Result, error) {
		return r.readResult(read(ctx, uri))
	}
}

// readResult returns the contents of a resource in the form of the client's era.
func (r *request) readResult(result *mcp.ReadResourceResult, err error) (*Result, error) {
	if err != nil {
		return r.handlerError(err)
	}
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return a shared result
	if !r.era.Modern {
		own.CacheHints = mcp.CacheHints{}
	} else {
		own.CacheScope = cmp.Or(own.CacheScope, mcp.CachePrivate)
		if own.TTLMs == nil || *own.TTLMs < 0 { // a negative hint is invalid
			own.TTLMs = new(int64)
		}
	}
	return r.encodeResult(&own, &own.Result)
}

// ResourceListChanged notifies clients that the results of [ResourceSource].List or ListTemplates
// have changed.
func (s *Server) ResourceListChanged() {
	s.listChanged(mcp.NotificationResourceListChanged)
}

// computed is the provider of the resources and templates that are computed: those of
// Options.Resources, and the URIs that only [Upstreams].Read knows.
type computed struct{ *Server }

func (c computed) List(ctx context.Context, kind mcp.Kind) (*listing, error) {
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

func (c computed) Find(_ context.Context, kind mcp.Kind, key []byte) *item {
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
	byKey := make(map[string]*item, len(all))
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
		byKey[key] = newItem(kind, key, definition)
	}
	return items.NewListing(byKey), nil
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
