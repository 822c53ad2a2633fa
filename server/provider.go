package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A provider is a source of items.
type provider interface {
	// list returns the items of a kind; nil for none. ctx is the request, if there is one.
	list(ctx context.Context, kind mcp.Kind) (*listing, error)
	// find returns the item that a client uses by a key of this kind, or nil. It need not be
	// listed. find must not retain the bytes of the key.
	find(kind mcp.Kind, key []byte) *item
}

// newProviders returns the providers of each kind. If several have an item, the first one counts.
func (s *Server) newProviders() map[mcp.Kind][]provider {
	return map[mcp.Kind][]provider{
		mcp.KindTool:   {toolProvider{s}},
		mcp.KindPrompt: {&s.prompts},
		mcp.KindResource: {skillFiles{skills: &s.skills}, &s.resources,
			templateMatches{templates: &s.templates}, dynamicSkills{skills: &s.skills},
			computed{s}},
		mcp.KindResourceTemplate: {&s.templates, computed{s}},
		mcp.KindSkill:            {&s.skills},
	}
}

// unlisted is part of a provider whose items are in no list.
type unlisted struct{}

func (unlisted) list(context.Context, mcp.Kind) (*listing, error) { return nil, nil }

// listOf returns the items of a kind of all providers.
func (s *Server) listOf(ctx context.Context, kind mcp.Kind) (*listing, error) {
	var all *listing
	for _, p := range s.providers[kind] {
		l, err := p.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		all = all.with(l)
	}
	return all, nil
}

// lists returns the function of the method table that answers requests for the list of a kind.
func lists(kind mcp.Kind) func(*request) (*Result, error) {
	return func(r *request) (*Result, error) {
		l, err := r.conn.server.listOf(r, kind)
		if err != nil {
			return r.handlerError(err)
		}
		p, err := newPage(r, kind, l)
		if err != nil {
			return nil, err
		}
		return &p.Result, nil
	}
}

// find returns the item that the client uses by a key of this kind, or nil if there is none that
// the client may see. If no provider has the item, find calls the function Await of [Upstreams] and
// looks once more. exists reports whether one has it then.
func (r *request) find(kind mcp.Kind, key []byte) (found *item, exists bool, err error) {
	if found, exists = r.lookUp(kind, key); !exists {
		if err = r.awaitMissing(kind, key); err == nil {
			found, exists = r.lookUp(kind, key)
		}
	}
	return found, exists, err
}

// lookUp is find without waiting.
func (r *request) lookUp(kind mcp.Kind, key []byte) (found *item, exists bool) {
	for _, p := range r.conn.server.providers[kind] {
		if i := p.find(kind, key); i != nil {
			if exists = true; r.maySee(i) {
				return i, true
			}
		}
	}
	return nil, exists
}

// maySee reports whether an item exists for the client.
func (r *request) maySee(i *item) bool {
	return (i.of == nil || r.maySee(i.of)) && r.permits(i.extension) &&
		r.conn.server.visible(r, i.kind, i.key)
}

func (s *Server) visible(r *request, kind mcp.Kind, key string) bool {
	return s.o.Visible == nil || s.o.Visible(r, kind, key)
}
