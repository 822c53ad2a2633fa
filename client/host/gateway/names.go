package gateway

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/uritemplate"
)

// A nameKey is a kind and a public name or URI.
type nameKey struct{ kind, public string }

// A nameOwner is a server and its own name for an item.
type nameOwner struct{ id, own string }

// A nameTable records which servers have which names, and the order of the servers. A name belongs
// to the first server in order that has it; a URI also to one with a template that matches it.
type nameTable struct {
	mu        sync.RWMutex
	ranks     map[string]int // the lowest rank is first in order
	next      int            // rank of the next server that is added
	names     map[nameKey]map[string]string
	templates map[string]*templateSet
	unlisted  map[string]bool // servers that are not listed yet
}

// A templateSet holds the URI templates of one server.
type templateSet struct {
	texts []string
	set   *uritemplate.Set
}

func newNameTable() *nameTable {
	return &nameTable{ranks: make(map[string]int), names: make(map[nameKey]map[string]string),
		templates: make(map[string]*templateSet), unlisted: make(map[string]bool)}
}

// addServer puts a server last in the order, unless it has a rank, and marks it as not listed.
func (c *nameTable) addServer(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.ranks[id]; !known {
		c.ranks[id] = c.next
		c.next++
	}
	c.unlisted[id] = true
}

// setListed records that a server was listed or could not be.
func (c *nameTable) setListed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unlisted, id)
}

// removeServer removes a server without names from the order.
func (c *nameTable) removeServer(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ranks, id)
	delete(c.unlisted, id)
}

// setOrder puts these servers first, in this order.
func (c *nameTable) setOrder(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := slices.DeleteFunc(slices.Collect(maps.Keys(c.ranks)),
		func(id string) bool { return slices.Contains(ids, id) })
	slices.SortFunc(rest, func(a, b string) int { return c.ranks[a] - c.ranks[b] })
	clear(c.ranks)
	c.next = 0
	for _, id := range append(slices.Clone(ids), rest...) {
		c.ranks[id] = c.next
		c.next++
	}
}

// replace replaces the names that a server has of one kind and returns the later servers that this
// may affect.
func (c *nameTable) replace(kind, id string, before, now map[string]string) (affected []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	behind := map[string]bool{}
	changed := func(public string) {
		for other := range c.names[nameKey{kind, public}] {
			behind[other] = true
		}
	}
	different := false
	for public := range before {
		if _, still := now[public]; still {
			continue
		}
		n := nameKey{kind, public}
		if delete(c.names[n], id); len(c.names[n]) == 0 {
			delete(c.names, n)
		}
		changed(public)
		different = true
	}
	for public, own := range now {
		n := nameKey{kind, public}
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
		c.compileTemplates(id, now)
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

// maxTemplates limits the bytes of one server's templates that take part in URI ownership, because
// every URI of each later server is matched against them.
const maxTemplates = 16 << 10

// compileTemplates compiles a server's templates. The caller holds mu.
func (c *nameTable) compileTemplates(id string, texts map[string]string) {
	ts := new(templateSet)
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

// firstAhead returns the first server ahead of id that has the name or, for a resource or template,
// a template that matches its URIs.
func (c *nameTable) firstAhead(n nameKey, id string) (first nameOwner, found bool) {
	uri := ""
	switch n.kind {
	case kindResource:
		uri = n.public
	case kindTemplate:
		uri = exampleURI(n.public)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.first(n, uri, func(other string) bool { return c.ranks[other] < c.ranks[id] })
}

// first returns the first server in order, of those that counts accepts, that has a name or a
// template for a URI. The caller holds mu.
func (c *nameTable) first(n nameKey, uri string, counts func(id string) bool) (first nameOwner,
	found bool) {
	earlier := func(id string) bool {
		return counts(id) && (!found || c.ranks[id] < c.ranks[first.id])
	}
	for id, own := range c.names[n] {
		if earlier(id) {
			first, found = nameOwner{id, own}, true
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
			first, found = nameOwner{id, ts.texts[i]}, true
		}
	}
	return first, found
}

// reader returns the server that answers for a URI, of those that counts accepts, and the resource
// or template that makes it so.
func (c *nameTable) reader(uri string, counts func(id string) bool) (id string, by nameKey,
	found bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	exact := nameKey{kindResource, uri}
	first, found := c.first(exact, uri, counts)
	if _, listed := c.names[exact][first.id]; listed {
		return first.id, exact, found
	}
	return first.id, nameKey{kindTemplate, first.own}, found
}

// waitsForAhead reports whether a server ahead of id, of those that counts accepts, is not listed
// yet.
func (c *nameTable) waitsForAhead(id string, counts func(id string) bool) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for other := range c.unlisted {
		if c.ranks[other] < c.ranks[id] && counts(other) {
			return true
		}
	}
	return false
}

// serversByScheme returns the servers, of those that count, that have resources of the scheme of a
// URI, in order.
func (c *nameTable) serversByScheme(uri string, counts func(id string) bool) (ids []string) {
	scheme, _, _ := strings.Cut(uri, ":")
	c.mu.RLock()
	defer c.mu.RUnlock()
	for n, owners := range c.names {
		if n.kind != kindResource && n.kind != kindTemplate ||
			!strings.HasPrefix(n.public, scheme+":") {
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

// exampleURI returns a URI that matches a template, or "" if the template is invalid. Its values
// are unlikely to occur in another template.
func exampleURI(template string) string {
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
