// Package nametable records which server of a gateway owns a name or URI that several may have.
package nametable

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// KindOperation is the kind of a tool that is offered as an operation. Its public name differs from
// the tool's.
const KindOperation mcp.Kind = "tool as an operation"

// A Key identifies a kind and a public name or URI.
type Key struct {
	Kind   mcp.Kind
	Public string
}

// NewKey returns the key of a public name. Names of operations that differ only in '.' and '_'
// have the same key, because [dispatch.Catalog.Register] refuses the second.
func NewKey(kind mcp.Kind, public string) Key {
	if kind == KindOperation {
		public = strings.ReplaceAll(public, ".", "_")
	}
	return Key{kind, public}
}

// A Owner is a server and its own name for an item.
type Owner struct{ ID, Own string }

// A Table records which servers have which names, and the order of the servers. A name belongs
// to the first server in order that has it, and a URI to the first server that has it or a template
// that matches it.
type Table struct {
	mu        sync.RWMutex
	ranks     map[string]int            // by server ID; the first server has the lowest rank
	next      int                       // the rank of the next server that is added
	names     map[Key]map[string]string // own names by server ID
	templates map[string]*templateSet   // by server ID
	skilled   map[string]bool           // IDs of servers with skills
	unlisted  map[string]bool           // IDs of servers that are not listed yet
}

// A templateSet holds the URI templates of one server.
type templateSet struct {
	texts []string
	set   *uritemplate.Set
}

// New returns a table without servers.
func New() *Table {
	return &Table{ranks: make(map[string]int), names: make(map[Key]map[string]string),
		templates: make(map[string]*templateSet), skilled: make(map[string]bool),
		unlisted: make(map[string]bool)}
}

// AddServer puts a server last in the order, unless it has a rank, and marks it as not listed.
func (t *Table) AddServer(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.ranks[id]; !known {
		t.ranks[id] = t.next
		t.next++
	}
	t.unlisted[id] = true
}

// SetListed records that a server was listed or cannot be started.
func (t *Table) SetListed(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unlisted, id)
}

// RemoveServer removes a server without names from the order.
func (t *Table) RemoveServer(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ranks, id)
	delete(t.unlisted, id)
	delete(t.skilled, id)
}

// SetOrder puts these servers first, in this order.
func (t *Table) SetOrder(ids []string) {
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

// Servers returns the IDs of the servers in order.
func (t *Table) Servers() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(t.ranks),
		func(a, b string) int { return t.ranks[a] - t.ranks[b] })
}

// Replace replaces a server's names of one kind, which are own names by public name, and returns
// the IDs of the later servers that this may affect.
func (t *Table) Replace(kind mcp.Kind, id string, before,
	now map[string]string) (affected []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	later := map[string]bool{}
	changed := func(public string) {
		for other := range t.names[NewKey(kind, public)] {
			later[other] = true
		}
	}
	different := false
	for public := range before {
		if _, kept := now[public]; kept {
			continue
		}
		n := NewKey(kind, public)
		if delete(t.names[n], id); len(t.names[n]) == 0 {
			delete(t.names, n)
		}
		changed(public)
		different = true
	}
	for public, own := range now {
		n := NewKey(kind, public)
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
func (t *Table) compileTemplates(id string, texts map[string]string) {
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

// FirstBefore returns the first server before id that has the name; or, for a resource, template or
// skill, a template that matches its URIs; or, for a skill, a skill in whose directory it is.
func (t *Table) FirstBefore(n Key, id string) (first Owner, found bool) {
	return t.firstOf(n, func(other string) bool { return t.ranks[other] < t.ranks[id] })
}

// Other is FirstBefore for all servers but id, whatever their order.
func (t *Table) Other(n Key, id string) (first Owner, found bool) {
	return t.firstOf(n, func(other string) bool { return other != id })
}

func (t *Table) firstOf(n Key, before func(other string) bool) (first Owner, found bool) {
	if appdef.IsURI(n.Public) {
		return first, false // it has the server's ID
	}
	uri := ""
	switch n.Kind {
	case mcp.KindResource, mcp.KindSkill:
		uri = n.Public
	case mcp.KindResourceTemplate:
		uri = exampleURI(n.Public)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	first, found = t.first(n, uri, before)
	if n.Kind != mcp.KindSkill {
		return first, found
	}
	other := []Key{{mcp.KindResource, n.Public}} // a dynamic skill lists no files
	for _, outer := range SkillsAbove(n.Public)[1:] {
		other = append(other, Key{mcp.KindSkill, outer})
	}
	for _, n := range other {
		owner, ok := t.first(n, "", before)
		if ok && (!found || t.ranks[owner.ID] < t.ranks[first.ID]) {
			first, found = owner, true
		}
	}
	return first, found
}

// first returns the first server in order that has the name or, if uri is not "", a template that
// matches uri. It considers only servers that counts accepts. The caller holds mu.
func (t *Table) first(n Key, uri string, counts func(id string) bool) (first Owner,
	found bool) {
	earlier := func(id string) bool {
		return counts(id) && (!found || t.ranks[id] < t.ranks[first.ID])
	}
	for id, own := range t.names[n] {
		if earlier(id) {
			first, found = Owner{id, own}, true
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
			first, found = Owner{id, ts.texts[i]}, true
		}
	}
	return first, found
}

// Reader returns the server that a URI belongs to, and the key of its resource or template. It
// considers only servers that counts accepts.
func (t *Table) Reader(uri string, counts func(id string) bool) (id string, by Key,
	found bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	exact := Key{mcp.KindResource, uri}
	first, found := t.first(exact, uri, counts)
	if _, listed := t.names[exact][first.ID]; listed {
		return first.ID, exact, found
	}
	return first.ID, Key{mcp.KindResourceTemplate, first.Own}, found
}

// SkillReader returns the server with the innermost skill whose directory contains a file. It
// considers only servers that counts accepts.
func (t *Table) SkillReader(uri string, counts func(id string) bool) (id string, found bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, skill := range SkillsAbove(uri) {
		if first, found := t.first(Key{mcp.KindSkill, skill}, "", counts); found {
			return first.ID, true
		}
	}
	return "", false
}

// HasUnlistedBefore reports whether a server before id is not listed yet. It considers only servers
// that counts accepts.
func (t *Table) HasUnlistedBefore(id string, counts func(id string) bool) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for other := range t.unlisted {
		if t.ranks[other] < t.ranks[id] && counts(other) {
			return true
		}
	}
	return false
}

// ServersByScheme returns the IDs of the servers that have resources or templates with the scheme
// of uri, in order. It considers only servers that counts accepts.
func (t *Table) ServersByScheme(uri string, counts func(id string) bool) (ids []string) {
	scheme, _, _ := strings.Cut(uri, ":")
	t.mu.RLock()
	defer t.mu.RUnlock()
	for n, owners := range t.names {
		if n.Kind != mcp.KindResource && n.Kind != mcp.KindResourceTemplate ||
			!strings.HasPrefix(n.Public, scheme+":") {
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

// SkillsAbove returns the URIs that skills have if their directories contain the file, the
// innermost first. There is at least one.
func SkillsAbove(uri string) (skills []string) {
	for dir := uri; ; {
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
		if len(skills) > 0 && (dir == "" || strings.HasSuffix(dir, "/")) { // the end of "://"
			return skills
		}
		skills = append(skills, dir+"/SKILL.md")
	}
}
