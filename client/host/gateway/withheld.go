package gateway

import (
	"cmp"
	"maps"
	"slices"
)

// A Withheld is something that a server has and that is not offered.
type Withheld struct {
	Kind   string // tool, prompt, resource, resource template, or tool as an operation
	Name   string // as the server calls it, or its URI or URI template
	Reason Reason
	Detail string // the first change, the server that it collides with, or the error
}

// A Reason is why something is withheld.
type Reason string

const (
	ReasonChanged   Reason = "changed"   // it is not what it was when it was first used
	ReasonNew       Reason = "new"       // its server did not have it when it was first used
	ReasonAnother   Reason = "another"   // its server is another than it was
	ReasonCollision Reason = "collision" // a server ahead of this one has its name, URI, or a template for it
	ReasonUnusable  Reason = "unusable"  // it cannot be compared with what it was, or cannot be offered at all
)

// Withheld returns what is not offered of what each server has, by kind and name.
func (g *Gateway) Withheld() map[string][]Withheld {
	all := map[string][]Withheld{}
	for _, m := range g.allMounts() {
		for _, s := range m.shelves {
			all[m.id] = append(all[m.id], s.out()...)
		}
		if all[m.id] == nil {
			delete(all, m.id)
		}
	}
	return all
}

// out returns what is withheld.
func (s *shelf[T, F]) out() (all []Withheld) {
	s.mu.Lock()
	all = slices.Collect(maps.Values(s.withheld))
	for _, w := range s.left {
		all = append(all, w)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b Withheld) int { return cmp.Compare(a.Name, b.Name) })
	if s.also != nil {
		all = append(all, s.also.out()...)
	}
	return all
}
