package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A WithheldItem is an item that a server has and the gateway does not offer.
type WithheldItem struct {
	Kind   mcp.Kind // one of a list, "tool as an operation", or "instructions"
	Name   string   // the server's own name for it, its URI or its URI template
	Reason Reason
	Detail string // the first change, the ID of the colliding server, or the error
	OfUser bool   // it is in the list of a user, and nobody else's business
}

// A Reason says why an item is withheld.
type Reason string

const (
	ReasonChanged  Reason = "changed" // its definition differs from its pin
	ReasonNew      Reason = "new"     // the server did not have it at first use
	ReasonIdentity Reason = "another" // the server's identity differs from that of its pins
	// an earlier server has its name, its URI, or a template that matches its URI
	ReasonCollision Reason = "collision"
	// its definition is invalid or cannot be compared with its pin
	ReasonUnusable Reason = "unusable"
)

// Withheld returns the items that are not offered, by server ID, sorted by kind and name. The
// instructions of a server are an item of the kind "instructions".
func (g *Gateway) Withheld() map[string][]WithheldItem {
	all := map[string][]WithheldItem{}
	for _, u := range g.allUpstreams() {
		for _, l := range u.lists {
			all[u.id] = append(all[u.id], l.withheldItems()...)
		}
		if w := u.instructions.Load().withheld; w != nil {
			all[u.id] = append(all[u.id], *w)
		}
		all[u.id] = append(all[u.id], u.users.withheldItems()...)
		if all[u.id] == nil {
			delete(all, u.id)
		}
	}
	return all
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

// An unreviewedItem is one that a pin withholds, or the want of one.
type unreviewedItem struct {
	server  string          // serverInfo.name of who sent it
	name    string          // the server's own
	text    json.RawMessage // its definition as it was sent
	forApps bool            // clients learn nothing of it
	// what clients may learn of it: its definition is that which was accepted, if there is one,
	// because the hints in it say who may know of it
	known server.Withheld
}

// unreviewedItem returns an item of a server with this serverInfo.name that a pin withholds.
func (l *itemList) unreviewedItem(serverName string, d *definition.Definition,
	pinned json.RawMessage, public string, reason Reason) unreviewedItem {
	i := unreviewedItem{server: serverName, name: d.Own, text: d.Text, forApps: d.OnlyForApps}
	if pinned != nil {
		accepted, _ := definition.ParseTexts(l.kind, []json.RawMessage{pinned},
			l.upstream.overrides)
		if len(accepted) == 1 {
			d = accepted[0]
		}
	}
	i.known = server.Withheld{Key: public, Why: reasonsForClients[reason], Origin: server.Origin{
		Server: l.upstream.id, Name: d.Own,
		Definition: l.upstream.publicDefinition(l.kind, d, public)}}
	return i
}

// reasonsForClients says why pins withhold an item.
var reasonsForClients = map[Reason]string{
	ReasonChanged:  "its definition has changed",
	ReasonNew:      "it is new",
	ReasonIdentity: "its server is another one than before",
}

func (l *itemList) setUnreviewed(all []unreviewedItem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unreviewed = all
}

// unreviewed returns the items of a kind that pins withhold from the client of the request in ctx
// at d.
func (g *Gateway) unreviewed(ctx context.Context, d *downstream,
	kind mcp.Kind) (all []server.Withheld) {
	add := func(some []unreviewedItem) {
		for _, i := range some {
			if !i.forApps {
				all = append(all, i.known)
			}
		}
	}
	for _, u := range g.allUpstreams() {
		t := target{conn: server.ConnFrom(ctx)}
		switch {
		case u.disabled.Load() || !d.includes(u.id) ||
			u.sharing == host.PerSession && t.isStateless():
		case u.sharing == host.PerUser && kind != mcp.KindSkill:
			if own := u.latestLists(ctx); own != nil {
				add(own.unreviewed[kind])
			}
		default:
			l := u.list(kind)
			l.mu.Lock()
			add(l.unreviewed)
			l.mu.Unlock()
		}
	}
	return all
}

// A withheldError is the error of a call of an item that is withheld.
type withheldError struct {
	server string
	item   WithheldItem
}

func (e *withheldError) Error() string {
	see := "pin diff -s " + e.server
	switch e.item.Reason {
	case ReasonCollision:
		see = "status"
	case ReasonUnusable:
		see = "doctor " + e.server
	}
	return fmt.Sprintf("server %q: its %s %.100q is withheld (%s); stdwire %s shows why", e.server,
		e.item.Kind, e.item.Name, e.item.Reason, see)
}

func isWithheld(err error) bool {
	_, ok := errors.AsType[*withheldError](err)
	return ok
}

// Unlisted returns, by server ID, the kinds of the lists that are not known: not fetched yet, or
// not returned by the server. Disabled servers do not count.
func (g *Gateway) Unlisted() map[string][]string {
	all := map[string][]string{}
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || u.sharing == host.PerUser { // whose lists nobody else knows
			continue
		}
		for _, l := range u.fetchers() {
			if !l.Known() {
				all[u.id] = append(all[u.id], string(l.Kind))
			}
		}
	}
	return all
}

// knows reports whether a list is known, as the client of the request in ctx sees it.
func (u *upstreamServer) knows(ctx context.Context, l *listfetch.Fetcher) bool {
	if u.sharing != host.PerUser || l.Kind == mcp.KindSkill {
		return l.Known()
	}
	own := u.knownLists(ctx)
	return own != nil && own.err == nil && !own.missing[l.Kind]
}

// maxMissing limits the IDs in a partial list.
const maxMissing = 100

// missingServers returns the IDs of the servers of d whose list of a kind, as the client of the
// request in ctx sees it, is not known: the first 100 in alphabetical order, or nil.
func (g *Gateway) missingServers(ctx context.Context, d *downstream, kind mcp.Kind) []string {
	var missing map[string]bool
	for _, u := range g.allUpstreams() {
		if u.disabled.Load() || !d.includes(u.id) {
			continue
		}
		for _, l := range u.fetchers() {
			if l.Kind == kind && !u.knows(ctx, l) {
				if missing == nil {
					missing = make(map[string]bool)
				}
				missing[u.id] = true
			}
		}
	}
	if missing == nil {
		return nil
	}
	ids := slices.Sorted(maps.Keys(missing))
	return ids[:min(len(ids), maxMissing)]
}
