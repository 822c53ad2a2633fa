package gateway

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A nameKey identifies a kind and a public name or URI.
type nameKey struct {
	kind   mcp.Kind
	public string
}

// newNameKey returns the key of a public name. Names of operations that differ only in '.' and '_'
// have the same key, because [dispatch.Catalog.Register] refuses the second.
func newNameKey(kind mcp.Kind, public string) nameKey {
	if kind == kindOperation {
		public = strings.ReplaceAll(public, ".", "_")
	}
	return nameKey{kind, public}
}

// A nameOwner is a server and its own name for an item.
type nameOwner struct{ id, own string }

// A nameTable records which servers have which names, and the order of the servers. A name belongs
// to the first server in order that has it, and a URI to the first server that has it or a template
// that matches it.
type nameTable struct {
	mu        sync.RWMutex
	ranks     map[string]int                // by server ID; the first server has the lowest rank
	next      int                           // the rank of the next server that is added
	names     map[nameKey]map[string]string // own names by server ID
	templates map[string]*templateSet       // by server ID
	skilled   map[string]bool               // IDs of servers with skills
	unlisted  map[string]bool               // IDs of servers that are not listed yet
}

// A templateSet holds the URI templates of one server.
type templateSet struct {
	texts []string
	set   *uritemplate.Set
}

func newNameTable() *nameTable {
	return &nameTable{ranks: make(map[string]int), names: make(map[nameKey]map[string]string),
		templates: make(map[string]*templateSet), skilled: make(map[string]bool),
		unlisted: make(map[string]bool)}
}

// addServer puts a server last in the order, unless it has a rank, and marks it as not listed.
func (t *nameTable) addServer(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.ranks[id]; !known {
		t.ranks[id] = t.next
		t.next++
	}
	t.unlisted[id] = true
}

// setListed records that a server was listed or cannot be started.
func (t *nameTable) setListed(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unlisted, id)
}

// removeServer removes a server without names from the order.
func (t *nameTable) removeServer(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ranks, id)
	delete(t.unlisted, id)
	delete(t.skilled, id)
}

// setOrder puts these servers first, in this order.
func (t *nameTable) setOrder(ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := slices.DeleteFunc(slices.Collect(maps.Keys(t.ranks)),
		func(id string) bool { return slices.Contains(ids, id) })
	slices.SortFunc(rest, func(a, b string) int { return t.ranks[a] - t.ranks[b] })
	clear(t.ranks)
	t.next = 0
	for _, id := range append(slices.Clone(ids), rest...) {
		t.ranks[id] = t.next
		t.next++
	}
}

// replace replaces a server's names of one kind, which are own names by public name, and returns
// the IDs of the later servers that this may affect.
func (t *nameTable) replace(kind mcp.Kind, id string, before,
	now map[string]string) (affected []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	later := map[string]bool{}
	changed := func(public string) {
		for other := range t.names[newNameKey(kind, public)] {
			later[other] = true
		}
	}
	different := false
	for public := range before {
		if _, kept := now[public]; kept {
			continue
		}
		n := newNameKey(kind, public)
		if delete(t.names[n], id); len(t.names[n]) == 0 {
			delete(t.names, n)
		}
		changed(public)
		different = true
	}
	for public, own := range now {
		n := newNameKey(kind, public)
		if t.names[n] == nil {
			t.names[n] = make(map[string]string)
		}
		t.names[n][id] = own
		if _, had := before[public]; !had {
			changed(public)
			different = true
		}
	}
	if kind == mcp.KindResourceTemplate && different {
		t.compileTemplates(id, now)
	}
	if kind == mcp.KindSkill {
		t.skilled[id] = len(now) > 0
	}
	if kind == mcp.KindResource && different { // it may be a file of a skill
		for other, skilled := range t.skilled {
			later[other] = later[other] || skilled
		}
	}
	// these own more than their names
	if (kind == mcp.KindResourceTemplate || kind == mcp.KindSkill) && different {
		for other := range t.ranks {
			later[other] = true
		}
	}
	for other, affects := range later {
		if affects && t.ranks[other] > t.ranks[id] {
			affected = append(affected, other)
		}
	}
	return affected
}

// maxTemplates limits the total size in bytes of the templates of one server that own URIs, because
// every URI of each later server is matched against them. The rest own none.
const maxTemplates = 16 << 10

// compileTemplates compiles a server's templates. The caller holds mu.
func (t *nameTable) compileTemplates(id string, texts map[string]string) {
	ts := new(templateSet)
	var parsed []*uritemplate.Template
	size := 0
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if size += len(text); size > maxTemplates {
			break
		}
		if template, err := uritemplate.Parse(text); err == nil {
			ts.texts, parsed = append(ts.texts, text), append(parsed, template)
		}
	}
	if parsed == nil {
		delete(t.templates, id)
		return
	}
	ts.set = uritemplate.NewSet(parsed...)
	t.templates[id] = ts
}

// firstBefore returns the first server before id that has the name; or, for a resource, template or
// skill, a template that matches its URIs; or, for a skill, a skill in whose directory it is.
func (t *nameTable) firstBefore(n nameKey, id string) (first nameOwner, found bool) {
	if mcp.IsAppURI(n.public) {
		return first, false // it has the server's ID
	}
	uri := ""
	switch n.kind {
	case mcp.KindResource, mcp.KindSkill:
		uri = n.public
	case mcp.KindResourceTemplate:
		uri = exampleURI(n.public)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	before := func(other string) bool { return t.ranks[other] < t.ranks[id] }
	first, found = t.first(n, uri, before)
	if n.kind != mcp.KindSkill {
		return first, found
	}
	other := []nameKey{{mcp.KindResource, n.public}} // a dynamic skill lists no files
	for _, outer := range skillsAbove(n.public)[1:] {
		other = append(other, nameKey{mcp.KindSkill, outer})
	}
	for _, n := range other {
		owner, ok := t.first(n, "", before)
		if ok && (!found || t.ranks[owner.id] < t.ranks[first.id]) {
			first, found = owner, true
		}
	}
	return first, found
}

// first returns the first server in order that has the name or, if uri is not "", a template that
// matches uri. It considers only servers that counts accepts. The caller holds mu.
func (t *nameTable) first(n nameKey, uri string, counts func(id string) bool) (first nameOwner,
	found bool) {
	earlier := func(id string) bool {
		return counts(id) && (!found || t.ranks[id] < t.ranks[first.id])
	}
	for id, own := range t.names[n] {
		if earlier(id) {
			first, found = nameOwner{id, own}, true
		}
	}
	if uri == "" {
		return first, found
	}
	for id, ts := range t.templates {
		if !earlier(id) {
			continue
		}
		if i, _, ok := ts.set.Match(uri); ok {
			first, found = nameOwner{id, ts.texts[i]}, true
		}
	}
	return first, found
}

// reader returns the server that a URI belongs to, and the key of its resource or template. It
// considers only servers that counts accepts.
func (t *nameTable) reader(uri string, counts func(id string) bool) (id string, by nameKey,
	found bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	exact := nameKey{mcp.KindResource, uri}
	first, found := t.first(exact, uri, counts)
	if _, listed := t.names[exact][first.id]; listed {
		return first.id, exact, found
	}
	return first.id, nameKey{mcp.KindResourceTemplate, first.own}, found
}

// skillReader returns the server with the innermost skill whose directory contains a file. It
// considers only servers that counts accepts.
func (t *nameTable) skillReader(uri string, counts func(id string) bool) (id string, found bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, skill := range skillsAbove(uri) {
		if first, found := t.first(nameKey{mcp.KindSkill, skill}, "", counts); found {
			return first.id, true
		}
	}
	return "", false
}

// hasUnlistedBefore reports whether a server before id is not listed yet. It considers only servers
// that counts accepts.
func (t *nameTable) hasUnlistedBefore(id string, counts func(id string) bool) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for other := range t.unlisted {
		if t.ranks[other] < t.ranks[id] && counts(other) {
			return true
		}
	}
	return false
}

// serversByScheme returns the IDs of the servers that have resources or templates with the scheme
// of uri, in order. It considers only servers that counts accepts.
func (t *nameTable) serversByScheme(uri string, counts func(id string) bool) (ids []string) {
	scheme, _, _ := strings.Cut(uri, ":")
	t.mu.RLock()
	defer t.mu.RUnlock()
	for n, owners := range t.names {
		if n.kind != mcp.KindResource && n.kind != mcp.KindResourceTemplate ||
			!strings.HasPrefix(n.public, scheme+":") {
			continue
		}
		for id := range owners {
			if counts(id) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return t.ranks[a] - t.ranks[b] })
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
