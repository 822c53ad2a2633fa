package items

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Listed is a pointer to a type that embeds [Item].
type Listed interface{ Base() *Item }

// A Listing is an immutable snapshot of all items of a kind.
type Listing[E Listed] struct {
	ByKey          map[string]E
	Sorted         []E  // by key
	HasSessionOnly bool // an item is SessionOnly
	HasExtension   bool // an item has an Extension
	HasModernOnly  bool // an item is not listed for the legacy era
}

// NewListing returns a listing of items by their keys.
func NewListing[E Listed](items map[string]E) *Listing[E] {
	l := &Listing[E]{ByKey: items, Sorted: make([]E, 0, len(items))}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		e := items[key]
		l.Sorted = append(l.Sorted, e)
		i := e.Base()
		l.HasSessionOnly = l.HasSessionOnly || i.SessionOnly
		l.HasExtension = l.HasExtension || i.Extension != ""
		l.HasModernOnly = l.HasModernOnly || i.Legacy == nil
	}
	return l
}

// With returns the items of both listings, of which l has precedence. Each may be nil.
func (l *Listing[E]) With(other *Listing[E]) *Listing[E] {
	switch {
	case other == nil:
		return l
	case l == nil || len(l.Sorted) == 0:
		return other
	}
	items := maps.Clone(other.ByKey)
	maps.Copy(items, l.ByKey)
	return NewListing(items)
}

// A Collection holds the items of a kind that an application adds and removes. It is safe for
// concurrent use; reading takes no lock.
type Collection[E Listed] struct {
	mu       sync.Mutex
	items    map[string]E
	snapshot atomic.Pointer[Listing[E]] // nil after a change
	EverUsed atomic.Bool                // an item has been added
}

// Add adds items, and replaces those with the same keys.
func (c *Collection[E]) Add(items ...E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = map[string]E{}
	}
	for _, i := range items {
		c.items[i.Base().Key] = i
	}
	c.snapshot.Store(nil)
	c.EverUsed.Store(true)
}

// Has reports whether there is an item with this key.
func (c *Collection[E]) Has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, has := c.items[key]
	return has
}

// Remove removes items and returns their number.
func (c *Collection[E]) Remove(keys []string) (removed int) {
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

// Listing returns the current items.
func (c *Collection[E]) Listing() *Listing[E] {
	if l := c.snapshot.Load(); l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.snapshot.Load(); l != nil {
		return l
	}
	items := make(map[string]E, len(c.items))
	maps.Copy(items, c.items)
	l := NewListing(items)
	c.snapshot.Store(l)
	return l
}

// List returns all items, of the one kind that the collection holds. Its error is nil.
func (c *Collection[E]) List(context.Context, mcp.Kind) (*Listing[E], error) {
	return c.Listing(), nil
}

// Find returns the item with this key, or nil.
func (c *Collection[E]) Find(_ context.Context, _ mcp.Kind, key []byte) E {
	return c.Listing().ByKey[string(key)]
}
