package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// owner returns the server that answers for a URI at d: the first in order that lists it or a
// template for it, or else the one with a skill whose directory contains it, or nil. It returns an
// error if the URI is withheld.
func (g *Gateway) owner(d *downstream, uri string) (*upstreamServer, error) {
	counts := d.includes
	if appdef.IsURI(uri) { // no template of another server counts
		app := g.appOwner(d, uri)
		if app == nil {
			return nil, nil
		}
		counts = func(id string) bool { return id == app.id }
		if _, _, listed := g.names.Reader(uri, counts); !listed {
			return app, nil // servers need not list apps
		}
	}
	id, by, found := g.names.Reader(uri, counts)
	if !found && !appdef.IsURI(uri) {
		id, _ = g.names.SkillReader(uri, d.includes)
	}
	u := g.upstream(id)
	if !found || u == nil {
		return u, nil
	}
	switch offered, reason := u.list(by.Kind).status(by.Public); {
	case reason == ReasonChanged || reason == ReasonIdentity:
		return nil, u.changedError(by.Kind, by.Public)
	case !offered && g.names.HasUnlistedBefore(id, d.includes):
		return nil, server.ResourceNotFound(uri)
	}
	return u, nil
}

// ownerOf returns the server that a URI at d belongs to, or nil. If d includes a single server,
// unlisted URIs belong to it.
func (g *Gateway) ownerOf(d *downstream, uri string) *upstreamServer {
	u, err := g.owner(d, uri)
	if u != nil || err != nil {
		return u
	}
	return g.onlyUpstream(d)
}

// appOwner returns the server that an app's public URI names, if d offers it, or nil.
func (g *Gateway) appOwner(d *downstream, uri string) *upstreamServer {
	id, rest := appuri.Split(uri)
	if rest == "" || !d.includes(id) {
		return nil
	}
	return g.upstream(id)
}

// readMatched reads a URI that a template of u matches at s, from the server that the URI belongs
// to, which may be an earlier one.
func (u *upstreamServer) readMatched(ctx context.Context, s *server.Server,
	uri string) (json.RawMessage, error) {
	for _, d := range u.g.allDownstreams() {
		if d.server != s {
			continue
		}
		owner, err := u.g.owner(d, uri)
		if err != nil {
			return nil, err
		}
		if owner != nil {
			return owner.read(ctx, uri, nil)
		}
	}
	return u.read(ctx, uri, nil)
}

// readUnlisted reads a URI that no list at d contains, such as a link in a result. It asks the
// server that has the URI in a new resource, which is withheld, or the only server; otherwise the
// servers with URIs of its scheme, in order.
func (g *Gateway) readUnlisted(ctx context.Context, d *downstream,
	uri string) (json.RawMessage, error) {
	u, err := g.owner(d, uri)
	if err != nil {
		return nil, err
	}
	if u == nil {
		u = g.onlyUpstream(d)
	}
	if appdef.IsURI(uri) { // never at another server: see appuri.Public
		if u == nil {
			return nil, server.ResourceNotFound(uri)
		}
		if _, own := appuri.Own(u.id, uri); !own {
			uri = appuri.Public(u.id, uri) // the only server's own
		}
	}
	if u != nil {
		return u.readUnlisted(ctx, uri)
	}
	stateKind, id, _ := stateFrom(ctx)
	candidates := g.candidates(ctx, d, uri)
	for _, u := range candidates {
		if stateKind != "" && u.id != id { // the client answers another server's question
			continue
		}
		result, err := u.read(ctx, uri, nil)
		if cannotUse(err) && len(candidates) > 1 { // this client cannot use the server
			continue
		}
		if stateKind != "" || !isNotFound(err) || isWithheld(err) {
			return result, err
		}
	}
	return nil, server.ResourceNotFound(uri)
}

// readUnlisted reads a URI that only this server can have, and returns its error unchanged.
func (u *upstreamServer) readUnlisted(ctx context.Context, uri string) (json.RawMessage, error) {
	result, err := u.read(ctx, uri, nil)
	if errors.Is(err, client.ErrUndeclared) {
		return nil, server.ResourceNotFound(uri)
	}
	return result, err
}

// isNotFound reports whether a server refused a read because it does not have the resource or has
// no resources.
func isNotFound(err error) bool {
	refusal, refused := errors.AsType[*rpc.Error](err)
	return errors.Is(err, client.ErrUndeclared) || refused &&
		(refusal.Code == mcp.CodeResourceNotFound || refusal.Code == rpc.CodeInvalidParams ||
			refusal.Code == rpc.CodeMethodNotFound)
}

// candidates returns the servers of d that may have an unlisted URI, in order, without those that
// follow a server that is not listed yet.
func (g *Gateway) candidates(ctx context.Context, d *downstream,
	uri string) (upstreams []*upstreamServer) {
	ids := g.names.ServersByScheme(uri, d.includes)
	for _, u := range g.perUserServers(d) {
		if own := u.knownLists(ctx); own != nil && own.hasScheme(uri) {
			ids = append(ids, u.id)
		}
	}
	if all := slices.DeleteFunc(g.manager.IDs(),
		func(id string) bool { return !d.includes(id) }); len(all) == 1 {
		ids = all
	}
	for _, id := range ids {
		if u := g.upstream(id); u != nil && !g.names.HasUnlistedBefore(id, d.includes) {
			upstreams = append(upstreams, u)
		}
	}
	return upstreams
}

// read reads a URI from the server. It is server.Item.Use of its resources and skills.
func (u *upstreamServer) read(ctx context.Context, uri string,
	_ json.RawMessage) (json.RawMessage, error) {
	own, ok := appuri.Own(u.id, uri)
	if appdef.IsURI(own) && ok { // a template without the scheme of apps may match it
		settings, declared := server.ClientExtension(ctx, mcp.ExtensionApps)
		ok = declared && appdef.Accepted(settings)
	}
	if !ok || u.hides(ctx, own, uri) {
		return nil, server.ResourceNotFound(uri)
	}
	if err := u.checkSkill(own); err != nil {
		return nil, err
	}
	if err := u.checkOfUser(ctx, own, uri); err != nil {
		return nil, err
	}
	return u.g.call(ctx, &call{kind: mcp.KindResource, target: u.target(ctx, own, true)})
}

// hides reports whether an override hides a resource, or the template that it belongs to.
func (u *upstreamServer) hides(ctx context.Context, own, uri string) bool {
	if u.overrides[itemkey.Of(mcp.KindResource, own)].Hidden {
		return true
	}
	if u.hidden == nil {
		return false
	}
	_, _, offered := u.g.names.Reader(uri, func(id string) bool { return id == u.id })
	if u.sharing == host.PerUser {
		offered = u.offersFor(ctx, mcp.KindResource)[uri] != nil
	}
	_, _, matches := u.hidden.Match(own)
	return matches && !offered
}

// hiddenTemplates returns the set of templates that overrides hide, or nil if there are none.
func hiddenTemplates(all map[string]host.Override) *uritemplate.Set {
	var hidden []*uritemplate.Template
	for key, o := range all {
		kind, own := itemkey.Item(key)
		if kind != mcp.KindResourceTemplate || !o.Hidden {
			continue
		}
		if t, err := uritemplate.Parse(own); err == nil { // else no template of a server is it
			hidden = append(hidden, t)
		}
	}
	if hidden == nil {
		return nil
	}
	return uritemplate.NewSet(hidden...)
}

// readDirectory reads a directory of a dynamic skill from the server.
func (u *upstreamServer) readDirectory(ctx context.Context, uri string) (json.RawMessage, error) {
	resources, err := u.g.call(ctx, &call{kind: mcp.KindResource, directory: true,
		target: u.target(ctx, uri, true)})
	if errors.Is(err, client.ErrUndeclared) {
		err = rpc.Errorf(rpc.CodeInvalidParams, "There is no directory %.200q", uri)
	}
	return resources, err
}

// checkSkill returns an error if a file belongs to a skill that has changed since its first use.
func (u *upstreamServer) checkSkill(uri string) error {
	for _, skill := range nametable.SkillsAbove(uri) {
		switch _, reason := u.list(mcp.KindSkill).status(skill); reason {
		case ReasonChanged, ReasonIdentity:
			return u.changedError(mcp.KindSkill, skill)
		}
	}
	return nil
}

// checkOfUser returns an error if a resource, or a template for it, is withheld from the caller in
// ctx because it has changed since its first use. It waits for his lists.
func (u *upstreamServer) checkOfUser(ctx context.Context, own, public string) error {
	if u.sharing != host.PerUser || u.g.pins == nil {
		return nil
	}
	timer := time.NewTimer(userListWait)
	defer timer.Stop()
	l, err := u.listsFor(ctx, timer.C)
	if err != nil {
		return clientError(err)
	}
	if w, found := l.changed(own, public); found {
		return &clientReply{u.changedError(w.Kind, w.Name), &withheldError{u.id, w}}
	}
	return nil
}

func (u *upstreamServer) changedError(kind mcp.Kind, name string) *rpc.Error {
	return rpc.Errorf(rpc.CodeInvalidParams,
		"The %s %q of the server %q is withheld: it has changed since its first use", kind, name,
		u.id)
}
