package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/items"
)

// A provider is a source of items.
type provider interface {
	// List returns the items of a kind; nil for none. ctx is the request, if there is one.
	List(ctx context.Context, kind mcp.Kind) (*listing, error)
	// Find returns the item that a client uses by a key of this kind, or nil. It need not be
	// listed. ctx is like that of List. Find must not retain the bytes of the key.
	Find(ctx context.Context, kind mcp.Kind, key []byte) *item
}

// newProviders returns the providers of each kind. If several have an item, the first one counts.
func (s *Server) newProviders() map[mcp.Kind][]provider {
	return map[mcp.Kind][]provider{
		mcp.KindTool:   {toolProvider{s}},
		mcp.KindPrompt: {&s.prompts, own{s}},
		mcp.KindResource: {skillFiles{skills: &s.skills}, &s.resources,
			templateMatches{templates: &s.templates}, skillFiles{skills: &s.skills, dynamic: true},
			own{s}, computed{s}},
		mcp.KindResourceTemplate: {&s.templates, own{s}, computed{s}},
		mcp.KindSkill:            {&s.skills},
	}
}

// unlisted is part of a provider whose items are in no list.
type unlisted struct{}

func (unlisted) List(context.Context, mcp.Kind) (*listing, error) { return nil, nil }

// pages returns the function of the method table that answers requests for the list of a kind.
func pages(kind mcp.Kind) func(*request) (*Result, error) {
	return func(r *request) (*Result, error) {
		var all *listing
		for _, p := range r.conn.server.providers[kind] {
			l, err := p.List(r, kind)
			if err != nil {
				return r.handlerError(err)
			}
			all = all.With(l)
		}
		p, err := newPage(r, kind, all)
		if err != nil {
			return nil, err
		}
		return &p.Result, nil
	}
}

// A page is a part of a list. One allocation has the result and what encodes it.
type page struct {
	Result
	items.Page[*item]
}

// newPage returns the page of a list that the client requests.
func newPage(r *request, kind mcp.Kind, l *listing) (*page, error) {
	s := r.conn.server
	cursor, err := r.params.Text(paramCursor)
	if err != nil {
		return nil, err
	}
	var keep func(*item) bool
	if s.o.Visible != nil || l.HasSessionOnly && r.conn.isStateless() || l.HasExtension ||
		l.HasModernOnly && !r.era.Modern {
		keep = r.lists
	}
	p := &page{Page: items.Page[*item]{Common: s.results, Era: r.era,
		Member: kind.Info().ListMember, Partial: r.missingServers(kind), HiddenMeta: r.hiddenMeta(),
		Public: s.o.PublicLists && !l.HasExtension && !s.metaIsOffered(),
		Varies: r.own() != nil}}
	if p.Items, p.More, err = l.Page(cursor, s.o.PageSize, keep); err != nil {
		return nil, err
	}
	p.Result = Result{content: &p.Page, checked: true}
	return p, nil
}

// lists reports whether lists for the client have an item.
func (r *request) lists(i *item) bool {
	return (!i.SessionOnly || !r.conn.isStateless()) && (i.Legacy != nil || r.era.Modern) &&
		r.maySee(i)
}
