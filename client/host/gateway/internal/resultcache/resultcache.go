// Package resultcache keeps results of the tools of a server that only read.
package resultcache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxBytes   = 64 << 20 // of all results of a pool, each with entryBytes
	entryBytes = 1 << 10  // about the size of an entry without its result
	maxShare   = 8        // no result is kept that takes more than this part of a pool
)

// NewPool returns the memory that several caches share. Each principal has a share of it; the owner
// "" is for public results.
func NewPool() *quota.Pool { return quota.NewPool(maxBytes) }

// A Cache keeps results of one server. A nil cache keeps nothing. All methods are safe for
// concurrent use.
type Cache struct {
	pool     *quota.Pool
	lifetime time.Duration
	public   bool

	mu         sync.Mutex
	closed     bool
	doubtful   time.Time             // until then no result is kept
	generation uint64                // number of calls of Drop
	entries    map[Key]*list.Element // of *entry
	order      *list.List            // of *entry, the oldest first
	flights    map[Key]*flight
}

// New returns a cache that keeps results for a time, or as long as they say if that is shorter.
// Unless it is public, a result is for its principal only; a result that says it is private is that
// in any case.
func New(pool *quota.Pool, lifetime time.Duration, public bool) *Cache {
	return &Cache{pool: pool, lifetime: lifetime, public: public,
		entries: make(map[Key]*list.Element), order: list.New(), flights: make(map[Key]*flight)}
}

// A Key identifies a call.
type Key struct {
	public    bool
	principal string // "" if public
	call      [sha256.Size]byte
}

type entry struct {
	Key
	result  []byte // never modified
	expires time.Time
}

func (e *entry) size() int64 { return int64(len(e.result)) + entryBytes }

// A flight is a call that is being made. Others with the same key wait for its result.
type flight struct {
	principal  string
	generation uint64
	done       chan struct{}
	result     []byte // set before done is closed; nil if others may not use it
	private    bool   // set before done is closed: only the principal may use the result
}

// KeyOf returns the key of a call of a tool with this definition. ok is false if the arguments have
// no canonical form.
func KeyOf(principal string, definition, arguments []byte) (k Key, ok bool) {
	canonical, err := jsondiff.Canonical(arguments)
	if err != nil {
		return k, false
	}
	digest := sha256.New()
	_, _ = digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(definition)))) // never fails
	_, _ = digest.Write(definition)
	_, _ = digest.Write(canonical)
	k.principal = principal
	digest.Sum(k.call[:0])
	return k, true
}

// Do returns the kept result of a call, or that of the same call if it is being made, and otherwise
// makes the call. cached says that the call was not made. The caller must not modify the result.
func (c *Cache) Do(ctx context.Context, private Key,
	call func() (json.RawMessage, error)) (result json.RawMessage, cached bool, err error) {
	shared := private
	if c.public {
		shared.public, shared.principal = true, ""
	}
	c.mu.Lock()
	for _, k := range []Key{private, shared} {
		if result := c.get(k); result != nil {
			c.mu.Unlock()
			return result, true, nil
		}
	}
	if f := c.flights[shared]; f != nil {
		c.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
		if f.result != nil && (!f.private || f.principal == private.principal) {
			return f.result, true, nil
		}
		result, err = call()
		return result, false, err
	}
	f := &flight{principal: private.principal, generation: c.generation, done: make(chan struct{})}
	c.flights[shared] = f
	c.mu.Unlock()
	defer func() { // also after a panic
		c.mu.Lock()
		if c.flights[shared] == f {
			delete(c.flights, shared)
		}
		c.mu.Unlock()
		close(f.done)
	}()
	if result, err = call(); err == nil {
		c.store(f, private, shared, result)
	}
	return result, false, err
}

// get returns a result that is fresh, or nil. The caller holds mu.
func (c *Cache) get(k Key) []byte {
	at := c.entries[k]
	if at == nil {
		return nil
	}
	e := at.Value.(*entry)
	left := time.Until(e.expires)
	if left <= 0 {
		c.remove(e)
		return nil
	}
	if jsonscan.Member(e.result, "ttlMs") != nil { // it is not as fresh as it was
		return jsonscan.SetMember(e.result, "ttlMs",
			strconv.AppendInt(nil, left.Milliseconds(), 10))
	}
	return e.result
}

// store keeps the result of a flight if it may be kept.
func (c *Cache) store(f *flight, private, shared Key, result []byte) {
	kind, _ := jsonscan.Text(jsonscan.Member(result, "resultType"))
	if kind != "" && kind != string(mcp.ResultComplete) ||
		string(jsonscan.Member(result, "isError")) == "true" {
		return
	}
	lifetime := c.lifetime
	if ttl := jsonscan.Member(result, "ttlMs"); ttl != nil {
		ms, ok := jsonscan.Int(ttl, 64)
		if !ok {
			return
		}
		if ms = max(ms, 0); ms < lifetime.Milliseconds() {
			lifetime = time.Duration(ms) * time.Millisecond
		}
	}
	if lifetime <= 0 {
		return
	}
	e := &entry{Key: shared, result: result, expires: time.Now().Add(lifetime)}
	if scope := jsonscan.Member(result, "cacheScope"); scope != nil {
		if text, _ := jsonscan.Text(scope); text != string(mcp.CachePublic) {
			e.Key, f.private = private, true
		}
	}
	f.result = result
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || f.generation != c.generation || time.Now().Before(c.doubtful) ||
		e.size() > c.pool.Total()/maxShare {
		return
	}
	if old := c.entries[e.Key]; old != nil {
		c.remove(old.Value.(*entry))
	}
	for c.pool.Take(e.principal, e.size()) != nil {
		oldest := c.oldestOf(e.principal)
		if oldest == nil {
			return // other caches have what is left
		}
		c.remove(oldest)
	}
	c.entries[e.Key] = c.order.PushBack(e)
}

// oldestOf returns the oldest entry of a principal, or nil. The caller holds mu.
func (c *Cache) oldestOf(principal string) *entry {
	for at := c.order.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); e.principal == principal {
			return e
		}
	}
	return nil
}

// remove removes an entry. The caller holds mu.
func (c *Cache) remove(e *entry) {
	c.order.Remove(c.entries[e.Key])
	delete(c.entries, e.Key)
	c.pool.Give(e.principal, e.size())
}

// Drop removes all results. Those of calls that are being made are not kept.
func (c *Cache) Drop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.flights)
	for at := c.order.Front(); at != nil; at = c.order.Front() {
		c.remove(at.Value.(*entry))
	}
}

// maxDoubt is how long a call is expected to change something after nobody waits for it.
const maxDoubt = time.Minute

// Doubt removes all results, because a call that may change something was given up, and the server
// may still be working on it. For a while, no others are kept.
func (c *Cache) Doubt() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.doubtful = time.Now().Add(min(c.lifetime, maxDoubt))
	c.mu.Unlock()
	c.Drop()
}

// Close removes all results; no others are kept from then on.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Drop()
}
