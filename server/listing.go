package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// An item is an element of a list, in the form in which requests use it: what depends on how it was
// added was determined then.
type item struct {
	kind        mcp.Kind
	key         string // unique in the list
	definition  []byte // its JSON in lists
	legacy      []byte // the same for revisions before 2026-07-28; nil: not listed there
	sessionOnly bool   // see Item.NeedsSession
	extension   string // the extension that the client must have negotiated; "" for none
	use         useFunc
	complete    Completer // nil: no suggestions
	of          *item     // the template or skill that an unlisted resource belongs to

	tool     *tool       // of a tool
	template *template   // of a resource template
	skill    *skillEntry // of a skill
}

// newItem returns an item whose definition is the same in both eras.
func newItem(kind mcp.Kind, key string, definition []byte) *item {
	return &item{kind: kind, key: key, definition: definition, legacy: definition}
}

// appendDefinition appends the JSON of the item in lists for an era, without keys of its _meta.
func (i *item) appendDefinition(dst []byte, e *era.Era, hiddenMeta []string) []byte {
	definition := i.definition
	if !e.Modern {
		definition = i.legacy
	}
	if len(hiddenMeta) > 0 {
		definition = withoutMeta(definition, hiddenMeta)
	}
	if i.tool == nil || e.Modern || !isTask(i.tool.tasks) || !e.ExperimentalTasks() {
		return append(dst, definition...)
	}
	dst = append(dst, definition[:len(definition)-1]...)
	return append(append(append(dst, executionStart...), i.tool.tasks...), `"}}`...)
}

// executionStart begins what clients with the experimental tasks of 2025-11-25 get of a tool.
const executionStart = `,"execution":{"taskSupport":"`

// itemError returns the error of a method that adds an item; nil for nil.
func itemError(kind mcp.Kind, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("server: %s %.200q: %w", kind, key, err)
}

// Must panics with err if it is not nil. It is for the items that a program adds when it starts:
//
//	server.Must(s.AddPrompt(server.Prompt{Prompt: prompt, Get: get}))
func Must(err error) {
	if err != nil {
		panic(err)
	}
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
	case other == nil:
		return l
	case l == nil || len(l.sorted) == 0:
		return other
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
func (c *collection) remove(keys []string) (removed int) {
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

// add adds an item, or replaces the one with the same key, and notifies clients.
func (s *Server) add(i *item) {
	if i.complete != nil {
		s.completions.Store(true)
	}
	s.added[i.kind].add(i)
	s.notifyChange(changeNotification{method: i.kind.ListChanged()})
}

// remove removes added items of a kind and returns their number.
func (s *Server) remove(kind mcp.Kind, keys []string) int {
	removed := s.added[kind].remove(keys)
	if removed > 0 {
		s.notifyChange(changeNotification{method: kind.ListChanged()})
	}
	return removed
}

// list and find make a collection the provider of its kind.
func (c *collection) list(context.Context, mcp.Kind) (*listing, error) { return c.listing(), nil }

func (c *collection) find(_ mcp.Kind, key []byte) *item { return c.listing().byKey[string(key)] }
