package gateway

import (
	"cmp"
	"maps"
	"slices"
)

// A Withheld is an item that a server has and the gateway does not offer.
type Withheld struct {
	Kind   string // tool, prompt, resource, resource template, or tool as an operation
	Name   string // the server's name for it, its URI or its URI template
	Reason Reason
	Detail string // the first change, the ID of the colliding server, or the error
}

// A Reason says why an item is withheld.
type Reason string

const (
	ReasonChanged Reason = "changed" // it is not what it was when it was first used
	ReasonNew     Reason = "new"     // its server did not have it when it was first used
	ReasonAnother Reason = "another" // its server is another than it was
	// a server ahead of this one has its name, URI, or a template for it
	ReasonCollision Reason = "collision"
	// it cannot be compared with what it was, or cannot be offered at all
	ReasonUnusable Reason = "unusable"
)

// Withheld returns the items that are not offered, by server ID, sorted by kind and name.
func (g *Gateway) Withheld() map[string][]Withheld {
	all := map[string][]Withheld{}
	for _, u := range g.allUpstreams() {
		for _, s := range u.lists {
			all[u.id] = append(all[u.id], s.withheldItems()...)
		}
		if all[u.id] == nil {
			delete(all, u.id)
		}
	}
	return all
}

// withheldItems returns the withheld items.
func (l *itemList[T, S]) withheldItems() (all []Withheld) {
	l.mu.Lock()
	all = slices.Collect(maps.Values(l.withheld))
	for _, w := range l.unoffered {
		all = append(all, w)
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b Withheld) int { return cmp.Compare(a.Name, b.Name) })
	if l.operations != nil {
		all = append(all, l.operations.withheldItems()...)
	}
	return all
}
