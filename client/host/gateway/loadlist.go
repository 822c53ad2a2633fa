package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/listcache"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// load fetches the list from c and offers it.
func (l *itemList) load(ctx context.Context, c *client.Client) error {
	all, invalid, err := definition.ParseList(l.kind,
		c.Integration().Definitions(ctx, l.kind), l.upstream.overrides)
	// ErrMethodNotFound says that the server has no items of this kind.
	if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) {
		return err
	}
	u := l.upstream
	u.applying.Lock()
	defer u.applying.Unlock()
	switch { // it is withdrawn now or will be
	case u.ctx.Err() != nil:
		return host.ErrClosed
	case u.disabled.Load():
		return host.ErrDisabled
	}
	l.setListed(c.ServerInfo().Name, all, invalid)
	l.fetcher.SetSource(c)
	u.server, u.unsaved = l.server, true
	u.setInstructions(l.server, c.Instructions())
	return nil
}

// setListed replaces the list and logs its invalid items. server is serverInfo.name. The caller
// holds upstreamServer.applying.
func (l *itemList) setListed(server string, all []*definition.Definition,
	invalid []definition.Invalid) {
	l.offerListed(server, all, invalid)
	if tools := l.upstream.list(mcp.KindTool); l.upstream.asTools != nil && l.kind != mcp.KindTool {
		tools.recheck() // some of them depend on what else is offered
	}
}

// offerListed is setListed without effect on other lists.
func (l *itemList) offerListed(server string, all []*definition.Definition,
	invalid []definition.Invalid) {
	definition.Reuse(all, l.listed)
	l.server, l.listed, l.unusable, l.hasListed = server, all, invalid, true
	l.texts = definition.Texts(all)
	defer l.fetcher.SetKnown() // a call of a name that is missing now fails at once
	usable, withheld := l.usable(server, all, invalid)
	l.warnUnknownOverrides()
	u, g := l.upstream, l.upstream.g
	var ownTools []*definition.Definition
	if l.kind == mcp.KindTool {
		ownTools = u.ownTools(all, func(kind mcp.Kind) bool { return u.list(kind).hasWanted() })
	}
	defer g.lockOffers()()
	if l.kind == mcp.KindTool && len(all) > 0 && !slices.ContainsFunc(all,
		func(d *definition.Definition) bool { return u.filter.Allows(d.Own) }) {
		g.warnLater("gateway: the filter of a server lets none of its tools through",
			slog.String("server", u.id), slog.Int("tools", len(all)),
			slog.String("see", "stdwire doctor "+u.id))
	}
	all, usable = slices.Concat(all, ownTools), slices.Concat(usable, ownTools)
	g.updateOffers(append(g.upstreamsByID(l.claim(all, usable, withheld)), l.upstream))
}

// usable returns the items that match their pins and whose overrides can be applied, and the
// others as withheld.
func (l *itemList) usable(server string, all []*definition.Definition,
	invalid []definition.Invalid) (usable []*definition.Definition,
	withheld map[string]WithheldItem) {
	withheld = make(map[string]WithheldItem, len(invalid))
	withhold := func(own, detail string) {
		withheld[unusablePrefix+own] = WithheldItem{Kind: l.kind, Name: own,
			Reason: ReasonUnusable, Detail: detail}
	}
	for _, d := range invalid {
		withhold(d.Own, d.Err.Error())
	}
	for _, d := range l.admit(server, all, withheld) {
		if d.Refused == nil {
			usable = append(usable, d)
		} else {
			withhold(d.Own, "its override cannot be applied: "+d.Refused.Error())
		}
	}
	return usable, withheld
}

// warnUnknownOverrides logs, once, overrides of items that the server does not have. The caller
// holds upstreamServer.applying.
func (l *itemList) warnUnknownOverrides() {
	u := l.upstream
	if len(u.overrides) == 0 {
		return
	}
	names := make([]string, 0, len(l.listed)+len(l.unusable))
	for _, d := range l.listed {
		names = append(names, d.Own)
	}
	for _, d := range l.unusable {
		names = append(names, d.Own)
	}
	for _, key := range itemkey.Unknown(maps.Keys(u.overrides), l.kind, names) {
		if slices.Contains(u.unknown, key) {
			continue
		}
		u.unknown = append(u.unknown, key)
		u.g.o.Logger.Warn("gateway: an override is for a "+string(l.kind)+
			" that the server does not have", slog.String("server", u.id),
			slog.String("override", key), slog.String("see", "stdwire doctor "+u.id))
	}
}

// ownTools returns the tools that the gateway adds to a server's own: those for the kinds of items
// of which offers returns true, unless the server has tools with these names.
func (u *upstreamServer) ownTools(listed []*definition.Definition,
	offers func(mcp.Kind) bool) (all []*definition.Definition) {
	has := map[mcp.Kind]bool{mcp.KindPrompt: offers(mcp.KindPrompt),
		mcp.KindResource: offers(mcp.KindResource) || offers(mcp.KindResourceTemplate)}
	for _, kind := range []mcp.Kind{mcp.KindResource, mcp.KindPrompt} {
		for _, d := range u.asTools[kind] {
			if has[kind] && !slices.ContainsFunc(listed,
				func(own *definition.Definition) bool { return own.Name == d.Name }) {
				all = append(all, d)
			}
		}
	}
	return all
}

// recheck compares the latest list with its pins again. The caller holds upstreamServer.applying.
func (l *itemList) recheck() {
	if l.hasListed {
		l.setListed(l.server, l.listed, l.unusable)
	}
}

// reserve claims the names of cached items until the server is listed.
func (l *itemList) reserve(all []*definition.Definition) {
	g := l.upstream.g
	defer g.lockOffers()()
	g.updateOffers(g.upstreamsByID(l.claim(all, nil, nil)))
}

// usesCache reports whether the server's lists are cached.
func (u *upstreamServer) usesCache() bool { return u.g.o.CacheDir != "" && u.digest != "" }

// loadCache offers the cached lists, but for those that were fetched meanwhile. It reports false if
// a list is missing or the file is invalid, so that the server must be listed.
func (u *upstreamServer) loadCache() (complete bool) {
	if !u.usesCache() {
		return false
	}
	r, text, ok := listcache.Read(listcache.Path(u.g.o.CacheDir, u.id))
	if !ok {
		return false
	}
	all := make([][]*definition.Definition, len(u.lists))
	for i, l := range u.lists {
		var invalid []definition.Invalid
		all[i], invalid = definition.ParseTexts(l.kind, *r.Of(l.kind), u.overrides)
		if invalid != nil {
			return false // saveCache writes valid definitions only
		}
	}
	if r.Digest != u.digest {
		// the lists may have changed, but later servers must not get the names in the meantime
		for i, l := range u.lists {
			l.reserve(all[i])
		}
		return false
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if u.ctx.Err() != nil || u.disabled.Load() {
		return true
	}
	u.cached, u.server = sha256.Sum256(text), r.Name
	complete = true
	for i, l := range u.lists {
		complete = l.setCached(r.Name, *r.Of(l.kind) == nil, all[i]) && complete
	}
	u.setInstructions(r.Name, r.Instructions) // after the tools, see admitInstructions
	return complete
}

// setCached offers a cached list, unless it is missing or the list of a client is offered. It
// reports whether the list is known now.
func (l *itemList) setCached(server string, missing bool, all []*definition.Definition) bool {
	if l.fetcher.Source() == nil && !missing {
		l.setListed(server, all, nil)
	}
	return l.hasListed
}

// saveCache writes the lists if one was fetched since the last time and they have changed.
func (u *upstreamServer) saveCache() {
	if !u.usesCache() {
		return
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if !u.unsaved {
		return
	}
	u.unsaved = false
	lists := listcache.Lists{Digest: u.digest, Name: u.server,
		Instructions: u.instructions.Load().text()}
	for _, l := range u.lists {
		*lists.Of(l.kind) = l.texts
	}
	text, err := mcp.Marshal(lists)
	sum := sha256.Sum256(text)
	if err != nil || sum == u.cached || len(text) > listcache.MaxSize {
		return
	}
	if err = os.MkdirAll(u.g.o.CacheDir, 0o700); err == nil {
		err = atomicfile.Write(listcache.Path(u.g.o.CacheDir, u.id), json.RawMessage(text), 0o600)
	}
	if err != nil {
		u.warn("the lists of a server cannot be cached", err)
		return
	}
	u.cached = sum
}
