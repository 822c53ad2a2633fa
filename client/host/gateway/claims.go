package gateway

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/uritemplate"
)

// A name is what something is called by the gateway.
type name struct{ kind, public string }

// An owner is the server that has something, and the name that the server has for it.
type owner struct{ id, own string }

// claims are which servers have which names, offered or not, and in which order the servers stand.
// A name belongs to the first server in order that has it; a URI also to one with a template that
// matches it.
type claims struct {
	mu        sync.RWMutex
	ranks     map[string]int // the lowest is the first in order
	next      int            // rank of a server that is added
	names     map[name]map[string]string
	templates map[string]*templates
	unheard   map[string]bool // servers that have not said yet what they have
}

// templates are those of a server.
type templates struct {
	texts []string
	set   *uritemplate.Set
}

func newClaims() *claims {
	return &claims{ranks: make(map[string]int), names: make(map[name]map[string]string), templates: make(map[string]*templates), unheard: make(map[string]bool)}
}

// enter gives a server a place in the order, behind all others unless it has one. It is unheard
// then.
func (c *claims) enter(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.ranks[id]; !known {
		c.ranks[id] = c.next
		c.next++
	}
	c.unheard[id] = true
}

// hear notes that a server has said what it has, or could not.
func (c *claims) hear(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unheard, id)
}

// leave takes a server out of the order. It has no claims any more.
func (c *claims) leave(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ranks, id)
	delete(c.unheard, id)
}

// order has these servers stand first, in this order.
func (c *claims) order(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := slices.DeleteFunc(slices.Collect(maps.Keys(c.ranks)), func(id string) bool { return slices.Contains(ids, id) })
	slices.SortFunc(rest, func(a, b string) int { return c.ranks[a] - c.ranks[b] })
	clear(c.ranks)
	c.next = 0
	for _, id := range append(slices.Clone(ids), rest...) {
		c.ranks[id] = c.next
		c.next++
	}
}

// replace has a server have these names of a kind, each with its own name for it, in place of those
// that it had. It returns the servers behind it in order for which that may make a difference.
func (c *claims) replace(kind, id string, before, now map[string]string) (affected []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	behind := map[string]bool{}
	changed := func(public string) {
		for other := range c.names[name{kind, public}] {
			behind[other] = true
		}
	}
	different := false
	for public := range before {
		if _, still := now[public]; still {
			continue
		}
		n := name{kind, public}
		if delete(c.names[n], id); len(c.names[n]) == 0 {
			delete(c.names, n)
		}
		changed(public)
		different = true
	}
	for public, own := range now {
		n := name{kind, public}
		if c.names[n] == nil {
			c.names[n] = make(map[string]string)
		}
		c.names[n][id] = own
		if _, had := before[public]; !had {
			changed(public)
			different = true
		}
	}
	if kind == kindTemplate && different {
		c.match(id, now)
		for other := range c.ranks {
			behind[other] = true
		}
	}
	for other := range behind {
		if c.ranks[other] > c.ranks[id] {
			affected = append(affected, other)
		}
	}
	return affected
}

// maxTemplates is how many bytes of templates of one server count for whose a URI is: to match them
// takes time, and each URI of each server behind it is matched.
const maxTemplates = 16 << 10

// match makes the set of a server's templates. With mu.
func (c *claims) match(id string, texts map[string]string) {
	ts := new(templates)
	var parsed []*uritemplate.Template
	size := 0
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if size += len(text); size > maxTemplates {
			break
		}
		if t, err := uritemplate.Parse(text); err == nil {
			ts.texts, parsed = append(ts.texts, text), append(parsed, t)
		}
	}
	if parsed == nil {
		delete(c.templates, id)
		return
	}
	ts.set = uritemplate.NewSet(parsed...)
	c.templates[id] = ts
}

// ahead returns the first server in order, ahead of one that has a name, that has it too. Of a
// template, another server has it as well if it has a template for the URIs that it stands for.
func (c *claims) ahead(n name, id string) (first owner, found bool) {
	uri := ""
	switch n.kind {
	case kindResource:
		uri = n.public
	case kindTemplate:
		uri = example(n.public)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.first(n, uri, func(other string) bool { return c.ranks[other] < c.ranks[id] })
}

// first returns the first server in order, of those that count, that has a name or a template for a
// URI. With mu.
func (c *claims) first(n name, uri string, counts func(id string) bool) (first owner, found bool) {
	earlier := func(id string) bool { return counts(id) && (!found || c.ranks[id] < c.ranks[first.id]) }
	for id, own := range c.names[n] {
		if earlier(id) {
			first, found = owner{id, own}, true
		}
	}
	if uri == "" {
		return first, found
	}
	for id, ts := range c.templates {
		if !earlier(id) {
			continue
		}
		if i, _, ok := ts.set.Match(uri); ok {
			first, found = owner{id, ts.texts[i]}, true
		}
	}
	return first, found
}

// reads returns who answers for a URI, of the servers that count, and the resource or template for
// which it does.
func (c *claims) reads(uri string, counts func(id string) bool) (id string, by name, found bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	exact := name{kindResource, uri}
	first, found := c.first(exact, uri, counts)
	if _, listed := c.names[exact][first.id]; listed {
		return first.id, exact, found
	}
	return first.id, name{kindTemplate, first.own}, found
}

// waits reports whether a server ahead of this one has not said yet what it has, of those that
// count.
func (c *claims) waits(id string, counts func(id string) bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for other := range c.unheard {
		if c.ranks[other] < c.ranks[id] && counts(other) {
			return true
		}
	}
	return false
}

// scheme returns the servers, of those that count, that have resources of the scheme of a URI, in
// order.
func (c *claims) scheme(uri string, counts func(id string) bool) (ids []string) {
	scheme, _, _ := strings.Cut(uri, ":")
	c.mu.RLock()
	defer c.mu.RUnlock()
	for n, owners := range c.names {
		if n.kind != kindResource && n.kind != kindTemplate || !strings.HasPrefix(n.public, scheme+":") {
			continue
		}
		for id := range owners {
			if counts(id) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return c.ranks[a] - c.ranks[b] })
	return ids
}

// example returns a URI that matches a template, "" if there cannot be one. Its values are unlikely to
// stand in another template.
func example(template string) string {
	t, err := uritemplate.Parse(template)
	if err != nil {
		return ""
	}
	values := uritemplate.Values{}
	for _, variable := range t.Variables() {
		values[variable] = uritemplate.String("~any~")
	}
	uri, err := t.Expand(values)
	if err != nil {
		return ""
	}
	return uri
}
