package gateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/client/host/gateway/internal/pincheck"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An itemList holds the items of one kind of a server: tools, prompts, resources, resource
// templates or skills, or those tools as operations.
type itemList struct {
	upstream *upstreamServer
	kind     mcp.Kind
	// name returns the public name of an item, or "" if the item must not be offered.
	name func(d *definition.Definition) string
	// distinguish, if set, returns the public names by Definition.Name, for items whose public
	// names, as name returns them, may be the same.
	distinguish func(names []string) map[string]string
	// shared says that other servers may have the same names.
	shared bool
	// targets returns where the items are offered at present.
	targets func() []itemTarget
	// operations, if set, offers the same items as operations.
	operations *itemList

	fetcher *listfetch.Fetcher // nil for operations

	// Guarded by upstreamServer.applying.
	server    string                   // serverInfo.name when the list was fetched
	listed    []*definition.Definition // the valid items
	unusable  []definition.Invalid     // the invalid items
	hasListed bool                     // listed and unusable are set
	texts     []json.RawMessage        // the latest valid items, also after withdraw, for the cache
	pins      pincheck.Checker

	mu sync.Mutex
	// By public name: own names of all items; the items whose definition and pin permit an offer;
	// of these, the items whose name belongs to this server; the items that are not wanted; and
	// wanted items that are not offered.
	claimed    map[string]string
	wanted     map[string]*definition.Definition
	offered    map[string]*offer
	withheld   map[string]WithheldItem
	unoffered  map[string]WithheldItem
	unreviewed []unreviewedItem
	public     map[string]string // public names of items that may be offered, by own name
	waiting    bool              // a wanted item waits until earlier servers are listed
	// offeredAt are the definitions that each target has, by public name.
	offeredAt map[itemTarget]map[string]*definition.Definition
}

// An itemTarget offers the items of a list: a server, or a catalog of operations. It is comparable.
type itemTarget interface {
	add(l *itemList, public string, o *offer) error
	remove(l *itemList, public string)
}

// unusablePrefix begins the keys of invalid items in withheld, which have no public name.
const unusablePrefix = "\x00"

// withdraw empties the list and returns the IDs of the servers that this may affect. The caller
// holds upstreamServer.applying and offerMu.
func (l *itemList) withdraw() (affected []string) {
	l.fetcher.SetSource(nil)
	l.server, l.listed, l.unusable, l.hasListed = "", nil, nil, false
	l.setUnreviewed(nil)
	return l.claim(nil, nil, nil)
}

// claim takes the names of all items, marks the usable ones as wanted, and returns the IDs of the
// servers that this may affect. The caller holds offerMu.
func (l *itemList) claim(all, usable []*definition.Definition,
	withheld map[string]WithheldItem) (affected []string) {
	public, claimed, wanted := l.choose(all, usable, withheld)
	l.mu.Lock()
	for name, w := range withheld {
		if w.Reason == ReasonUnusable && l.withheld[name] != w {
			l.warnUnusable(w)
		}
	}
	for _, d := range usable {
		own, usual := d.Own, l.name(d)
		if name := public[own]; name != "" && name != usual && l.claimed[name] != own {
			l.warnRenamed(own, usual, name)
		}
	}
	before := l.claimed
	l.claimed, l.public, l.wanted, l.withheld = claimed, public, wanted, withheld
	l.mu.Unlock()
	affected = l.upstream.g.names.Replace(l.kind, l.upstream.id, before, claimed)
	if l.operations != nil {
		affected = append(affected,
			l.operations.claim(all, usable, make(map[string]WithheldItem))...)
	}
	return affected
}

// choose returns the public names by own name, the own names by public name, and the usable items
// by public name. It adds the other usable items to withheld.
func (l *itemList) choose(all, usable []*definition.Definition,
	withheld map[string]WithheldItem) (public, claimed map[string]string,
	wanted map[string]*definition.Definition) {
	public, claimed = l.publicNames(all), make(map[string]string, len(all))
	wanted = make(map[string]*definition.Definition, len(usable))
	keeps := make(map[string]bool, len(all)) // by public name: the claiming item is not renamed
	for _, d := range all {
		name, offerable := public[d.Own]
		own, taken := claimed[name]
		keep := d.Name == d.Own
		if offerable && (!taken || keep && !keeps[name] || keep == keeps[name] && d.Own < own) {
			claimed[name], keeps[name] = d.Own, keep
		}
	}
	for _, d := range usable {
		own := d.Own
		name, offerable := public[own]
		switch {
		case !offerable:
		case claimed[name] != own:
			withheld[unusablePrefix+own] = WithheldItem{Kind: l.kind, Name: own,
				Reason: ReasonUnusable, Detail: fmt.Sprintf(
					"its public name %q is also that of %q of its server", name, claimed[name])}
		default:
			wanted[name] = d
		}
	}
	return public, claimed, wanted
}

// publicNames returns the public names of the items that may be offered, by own name.
func (l *itemList) publicNames(all []*definition.Definition) map[string]string {
	public := make(map[string]string, len(all))
	names := make(map[string]bool, len(all))
	for _, d := range all {
		if name := l.name(d); name != "" && !d.Hidden {
			public[d.Own], names[d.Name] = name, true
		}
	}
	if l.distinguish == nil {
		return public
	}
	different := l.distinguish(slices.Collect(maps.Keys(names)))
	for _, d := range all {
		if _, offerable := public[d.Own]; offerable {
			public[d.Own] = different[d.Name]
		}
	}
	return public
}

// warnRenamed logs that an item is not offered under its usual public name, because another item of
// the server would have the same one. The caller holds offerMu.
func (l *itemList) warnRenamed(own, usual, public string) {
	l.upstream.g.warnLater("gateway: a "+string(l.kind)+" is offered under another name, because "+
		"another one of its server has the same after invalid characters are replaced",
		slog.String("server", l.upstream.id), slog.String("own_name", own),
		slog.String("same_name", usual), slog.String("name", public))
}

// warnUnusable logs an item that is withheld because of its definition. The caller holds offerMu.
func (l *itemList) warnUnusable(w WithheldItem) {
	l.upstream.g.warnLater("gateway: a "+string(l.kind)+" is withheld: its definition is invalid",
		slog.String("server", l.upstream.id), slog.String("own_name", w.Name),
		slog.String("error", w.Detail), slog.String("see", "stdwire doctor "+l.upstream.id))
}

// removeStale withdraws items that are gone or belong to another server. The caller holds offerMu.
func (l *itemList) removeStale() {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, unoffered := l.upstream.g, make(map[string]WithheldItem)
	offered := make(map[string]*offer, len(l.wanted))
	l.waiting = false
	waits := l.shared && g.names.HasUnlistedBefore(l.upstream.id, func(string) bool { return true })
	for public, d := range l.wanted {
		if other, taken := l.firstBefore(public, d); taken {
			unoffered[public] = WithheldItem{Kind: l.kind, Name: l.claimed[public],
				Reason: ReasonCollision, Detail: other.ID}
			if l.unoffered[public] != unoffered[public] {
				g.warnLater("gateway: a "+string(l.kind)+" is withheld: another server has its name",
					slog.String("name", public), slog.String("server", l.upstream.id),
					slog.String("own_name", l.claimed[public]),
					slog.String("other_server", other.ID), slog.String("other_name", other.Own))
			}
			continue
		}
		if _, had := l.offered[public]; waits && !had {
			l.waiting = true
			continue
		}
		// addMissing tries it again and logs only a new error.
		if failed := l.unoffered[public]; failed.Reason == ReasonUnusable {
			unoffered[public] = failed
		}
		if offered[public] = l.offered[public]; offered[public] == nil ||
			offered[public].Definition != d {
			offered[public] = &offer{Definition: d}
		}
	}
	l.offered, l.unoffered = offered, unoffered
	targets := l.targets()
	for to, has := range l.offeredAt {
		included := slices.Contains(targets, to)
		for public := range has {
			if _, kept := offered[public]; !kept || !included {
				to.remove(l, public)
				delete(has, public)
			}
		}
		if !included {
			delete(l.offeredAt, to)
		}
	}
	if l.operations != nil {
		l.operations.removeStale()
	}
}

// firstBefore returns the first server before this one that has the name of an item or one of its
// URIs.
func (l *itemList) firstBefore(public string, d *definition.Definition) (first nametable.Owner,
	taken bool) {
	names, id := l.upstream.g.names, l.upstream.id
	first, taken = names.FirstBefore(nametable.NewKey(l.kind, public), id)
	if taken {
		return first, true
	}
	for _, uri := range d.Files {
		if first, taken = names.FirstBefore(nametable.NewKey(mcp.KindResource, uri), id); taken {
			return first, true
		}
	}
	return nametable.Owner{}, false
}

// addMissing offers the items that are not offered yet. The caller holds offerMu and has called
// removeStale for all affected lists.
func (l *itemList) addMissing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, to := range l.targets() {
		if l.offeredAt[to] == nil {
			if l.offeredAt == nil {
				l.offeredAt = make(map[itemTarget]map[string]*definition.Definition)
			}
			l.offeredAt[to] = make(map[string]*definition.Definition)
		}
		for public, o := range l.offered {
			if l.offeredAt[to][public] == o.Definition {
				continue
			}
			if err := to.add(l, public, o); err != nil {
				failed := WithheldItem{Kind: l.kind, Name: l.claimed[public],
					Reason: ReasonUnusable, Detail: err.Error()}
				if l.unoffered[public] != failed {
					l.warnUnusable(failed)
				}
				l.unoffered[public] = failed
				delete(l.offered, public)
				if _, had := l.offeredAt[to][public]; had { // an earlier definition
					to.remove(l, public)
					delete(l.offeredAt[to], public)
				}
				continue
			}
			l.offeredAt[to][public] = o.Definition
			delete(l.unoffered, public)
		}
	}
	if l.operations != nil {
		l.operations.addMissing()
	}
}

// count returns the number of offered items.
func (l *itemList) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.offered)
}

// hasWanted reports whether an item is offered or waits until earlier servers are listed.
func (l *itemList) hasWanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wanted) > 0
}

// isWaiting reports whether an item waits until earlier servers are listed.
func (l *itemList) isWaiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// updateOffers brings the downstream lists of these servers up to date. The caller holds offerMu.
func (g *Gateway) updateOffers(upstreams []*upstreamServer) {
	for _, d := range g.allDownstreams() {
		defer d.server.Integration().DeferListChanged()()
	}
	for _, u := range upstreams { // first, because another server may get the names
		for _, l := range u.lists {
			l.removeStale()
		}
	}
	for _, u := range upstreams {
		for _, l := range u.lists {
			l.addMissing()
		}
	}
	g.notifySubscriptions()
}

// serverListed records that a server was listed, or could not be, and offers the items that waited
// for it.
func (g *Gateway) serverListed(id string) {
	defer g.lockOffers()()
	g.names.SetListed(id)
	g.updateOffers(slices.DeleteFunc(g.allUpstreams(), func(u *upstreamServer) bool {
		return !slices.ContainsFunc(u.lists, (*itemList).isWaiting)
	}))
}

func (l *itemList) setUnreviewed(all []unreviewedItem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreviewed = all
}

// withheldItems returns the withheld items, sorted by name, followed by those that are withheld as
// operations.
func (l *itemList) withheldItems() (all []WithheldItem) {
	l.mu.Lock()
	all = slices.Collect(maps.Values(l.withheld))
	for _, w := range l.unoffered {
		all = append(all, w)
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b WithheldItem) int { return cmp.Compare(a.Name, b.Name) })
	if l.operations != nil {
		all = append(all, l.operations.withheldItems()...)
	}
	return all
}

// withheldItem returns the withheld item with the server's own name for it.
func (l *itemList) withheldItem(own string) (w WithheldItem, found bool) {
	all := l.withheldItems()
	i := slices.IndexFunc(all, func(w WithheldItem) bool { return w.Name == own })
	if i < 0 {
		return w, false
	}
	return all[i], true
}

// ownStatus is status for the server's own name.
func (l *itemList) ownStatus(own string) (offered bool, reason Reason) {
	l.mu.Lock()
	public := l.public[own]
	l.mu.Unlock()
	return l.status(public)
}

// lookUp reports whether an item is offered, and returns the server's own name for it, or "" if the
// server does not have it.
func (l *itemList) lookUp(public string) (offered bool, own string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, offered = l.offered[public]
	return offered, l.claimed[public]
}

// status reports whether an item is offered and, if it is withheld, why.
func (l *itemList) status(public string) (offered bool, reason Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, offered = l.offered[public]
	return offered, l.withheld[public].Reason
}
