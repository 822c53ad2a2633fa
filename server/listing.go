package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// declare implements [Integration.Declare].
func (s *Server) declare(kinds ...mcp.Kind) {
	for _, kind := range kinds {
		switch kind {
		case mcp.KindResource:
			s.resources.everUsed.Store(true)
		case mcp.KindResourceTemplate:
			s.templates.everUsed.Store(true)
			s.completions.Store(true)
		case mcp.KindPrompt:
			s.prompts.everUsed.Store(true)
			s.completions.Store(true)
		case mcp.KindSkill:
			s.skills.everUsed.Store(true)
		case mcp.KindApp:
			s.apps.used.Store(true)
		}
	}
}

// An item is an element of a list, in the form in which requests use it: what depends on how it was
// added was determined then.
type item struct {
	kind        mcp.Kind
	key         string // unique in the list
	definition  []byte // its JSON in lists
	legacy      []byte // the same for revisions before 2026-07-28; nil: not listed there
	sessionOnly bool   // see RawTool.NeedsSession
	extension   string // the extension that the client must have negotiated; "" for none
	use         useFunc
	complete    Completer // nil: no suggestions

	tool     *tool     // of a tool
	template *template // of a resource template
	skill    *Skill    // of a skill
}

// newItem returns an item whose definition is the same in both eras.
func newItem(kind mcp.Kind, key string, definition []byte) *item {
	return &item{kind: kind, key: key, definition: definition, legacy: definition}
}

// appendDefinition appends the JSON of the item in lists for an era, without keys of its _meta.
func (i *item) appendDefinition(dst []byte, e *era, hiddenMeta []string) []byte {
	definition := i.definition
	if !e.modern {
		definition = i.legacy
	}
	if len(hiddenMeta) > 0 {
		definition = withoutMeta(definition, hiddenMeta)
	}
	if i.tool == nil || e.modern || !isTask(i.tool.tasks) || !e.experimentalTasks() {
		return append(dst, definition...)
	}
	dst = append(dst, definition[:len(definition)-1]...)
	return append(append(append(dst, executionStart...), i.tool.tasks...), `"}}`...)
}

// executionStart begins what clients with the experimental tasks of 2025-11-25 get of a tool.
const executionStart = `,"execution":{"taskSupport":"`

// encodeDefinition returns an item's JSON in lists: definition if it is set, otherwise the encoded
// fields.
func encodeDefinition(definition json.RawMessage, fields any) ([]byte, error) {
	if definition == nil {
		return mcp.Marshal(fields)
	}
	if !isObject(definition) {
		return nil, errors.New("its Definition is not a JSON object")
	}
	return mcp.Marshal(definition)
}

// A listing is an immutable snapshot of all items of a kind.
type listing struct {
	byKey          map[string]*item
	sorted         []*item // by key
	hasSessionOnly bool    // an item has sessionOnly
	hasExtension   bool    // an item has an extension
	hasModernOnly  bool    // an item is not listed for the legacy era
}

func newListing(items map[string]*item) *listing {
	l := &listing{byKey: items, sorted: make([]*item, 0, len(items))}
	for _, i := range items {
		l.sorted = append(l.sorted, i)
		l.hasSessionOnly = l.hasSessionOnly || i.sessionOnly
		l.hasExtension = l.hasExtension || i.extension != ""
		l.hasModernOnly = l.hasModernOnly || i.legacy == nil
	}
	slices.SortFunc(l.sorted, func(a, b *item) int { return strings.Compare(a.key, b.key) })
	return l
}

// with returns the items of both listings, of which l has precedence. Each may be nil.
func (l *listing) with(other *listing) *listing {
	switch {
	case l == nil:
		return other
	case other == nil:
		return l
	}
	items := maps.Clone(other.byKey)
	maps.Copy(items, l.byKey)
	return newListing(items)
}

// A collection holds the items of a kind that an application adds and removes. It is safe for
// concurrent use; reading takes no lock.
type collection struct {
	mu       sync.Mutex
	items    map[string]*item
	snapshot atomic.Pointer[listing] // nil after a change
	everUsed atomic.Bool             // an item has been added
}

// add adds items, and replaces those with the same keys.
func (c *collection) add(items ...*item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = map[string]*item{}
	}
	for _, i := range items {
		c.items[i.key] = i
	}
	c.snapshot.Store(nil)
	c.everUsed.Store(true)
}

func (c *collection) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.items[key] != nil
}

// remove removes items and returns their number.
func (c *collection) remove(keys ...string) (removed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if _, ok := c.items[key]; ok {
			delete(c.items, key)
			removed++
		}
	}
	if removed > 0 {
		c.snapshot.Store(nil)
	}
	return removed
}

func (c *collection) listing() *listing {
	if l := c.snapshot.Load(); l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.snapshot.Load(); l != nil {
		return l
	}
	items := make(map[string]*item, len(c.items))
	for key, i := range c.items {
		items[key] = i
	}
	l := newListing(items)
	c.snapshot.Store(l)
	return l
}

// list and find make a collection the provider of its kind.
func (c *collection) list(context.Context, mcp.Kind) (*listing, error) { return c.listing(), nil }

func (c *collection) find(_ mcp.Kind, key []byte) (*item, useFunc) {
	if i := c.listing().byKey[string(key)]; i != nil {
		return i, i.use
	}
	return nil, nil
}

// newPage returns the page of a list that the client requests. A cursor is the key of the last item
// that the client has received. So the server keeps no state for it, and it stays valid when items
// are added and removed (2026-07-28, server/utilities/pagination).
func newPage(r *request, kind mcp.Kind, l *listing) (*page, error) {
	s := r.conn.server
	cursor, err := r.text(paramCursor)
	if err != nil {
		return nil, err
	}
	from := 0
	if cursor != nil {
		key, err := base64.RawURLEncoding.DecodeString(string(cursor))
		if err != nil || len(key) == 0 {
			return nil, rpc.Errorf(rpc.CodeInvalidParams,
				"Invalid params: cursor %.100q was not made by this server", cursor)
		}
		from, _ = slices.BinarySearchFunc(l.sorted, string(key)+"\x00",
			func(i *item, key string) int { return strings.Compare(i.key, key) })
	}
	p := &page{server: s, era: r.era, name: kind.ListMember(),
		partial: s.missingServers(kind), hiddenMeta: r.hiddenMeta(),
		public: s.o.PublicLists && !l.hasExtension && !s.metaIsOffered(),
		items:  l.sorted[from:min(from+s.o.PageSize, len(l.sorted))], more: from+
			s.o.PageSize < len(l.sorted)}
	if s.o.Visible != nil || l.hasSessionOnly && r.conn.isStateless() || l.hasExtension ||
		l.hasModernOnly && !r.era.modern {
		p.items, p.more = visibleItems(r, l.sorted[from:], s.o.PageSize)
	}
	p.Result = Result{content: p, checked: true}
	return p, nil
}

// visibleItems returns the first items that the client may see.
func visibleItems(r *request, items []*item, limit int) (seen []*item, more bool) {
	for _, i := range items {
		if i.sessionOnly && r.conn.isStateless() || i.legacy == nil && !r.era.modern ||
			!r.maySee(i) {
			continue
		}
		if len(seen) == limit {
			return seen, true
		}
		seen = append(seen, i)
	}
	return seen, false
}

// A page is a part of a list, as a result.
type page struct {
	Result
	server *Server
	era    *era
	name   string
	items  []*item
	more   bool
	// keys of _meta that the client does not get in definitions
	hiddenMeta []string
	public     bool // the list is the same for all clients
	hints      hints
	partial    []string // IDs of servers whose items are missing; see Upstreams.Missing
}

// hints selects the eras in which a page has cache hints.
type hints uint8

const (
	hintsModern hints = iota
	hintsAlways
	hintsNever
)

// appendEnd ends the object of a result.
func (p *page) appendEnd(dst []byte) []byte {
	if p.hints == hintsAlways || p.hints == hintsModern && p.era.modern {
		if p.partial != nil {
			dst = p.server.appendHintsTTL(dst, p.public, 0)
		} else {
			dst = p.server.appendHints(dst, p.public)
		}
	}
	switch {
	case p.partial != nil && p.era.modern:
		dst = append(append(dst, p.server.modernSuffix...), ',')
	case p.partial != nil:
		dst = append(dst, `,"_meta":{`...)
	case p.era.modern:
		return p.server.appendModernSuffix(dst)
	default:
		return append(dst, '}')
	}
	dst = append(dst, `"`+mcp.MetaPartial+`":[`...)
	for i, id := range p.partial {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, id)
	}
	return append(dst, "]}}"...)
}

func (p *page) size() int {
	size := 1024
	for _, item := range p.items {
		if size += len(item.definition) + 1; item.tool != nil && isTask(item.tool.tasks) {
			size += len(executionStart) + 16
		}
	}
	return size
}

func (p *page) appendJSON(dst []byte) []byte {
	dst = append(append(append(dst, `{"`...), p.name...), `":[`...)
	for i, item := range p.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.appendDefinition(dst, p.era, p.hiddenMeta)
	}
	dst = append(dst, ']')
	if p.more {
		dst = append(dst, `,"nextCursor":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, []byte(p.items[len(p.items)-1].key))
		dst = append(dst, '"')
	}
	return p.appendEnd(dst)
}
