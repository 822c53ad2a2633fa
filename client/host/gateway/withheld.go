package gateway

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A WithheldItem is an item that a server has and the gateway does not offer.
type WithheldItem struct {
	Kind   mcp.Kind // one of a list, or "tool as an operation"
	Name   string   // the server's own name for it, its URI or its URI template
	Reason Reason
	Detail string // the first change, the ID of the colliding server, or the error
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

// Withheld returns the items that are not offered, by server ID, sorted by kind and name.
func (g *Gateway) Withheld() map[string][]WithheldItem {
	all := map[string][]WithheldItem{}
	for _, u := range g.allUpstreams() {
		for _, l := range u.lists {
			all[u.id] = append(all[u.id], l.withheldItems()...)
		}
		if all[u.id] == nil {
			delete(all, u.id)
		}
	}
	return all
}

// withheldItems returns the withheld items, sorted by name, followed by those that are withheld as
// operations.
func (l *itemList[S]) withheldItems() (all []WithheldItem) {
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
