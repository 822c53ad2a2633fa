// Package cache stores the results of a modern server for as long as the server allows.
package cache

import (
	"bytes"
	"container/heap"
	linked "container/list" // list is ours
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxShare   = 4   // no result is kept that takes more than this part of a cache
	entryBytes = 512 // about the size of a result without its bytes and those of its request
)

// A Cache stores results of one server, every byte as the server wrote it (2026-07-28, Caching).
// The zero value stores nothing. It is safe for concurrent use.
type Cache struct {
	// Max is the size in bytes of all results, with the params of their requests. When the cache
	// is full, it removes the least recently used results. It does not store a result larger
	// than a quarter of Max. If Max is 0 or less, it stores nothing.
	Max int

	mu       sync.Mutex
	byMethod map[string]*methodEntries // by method
	used     linked.List               // all entries, the most recently used first
	expiry   expiries                  // all entries, the next one to expire first
	size     int                       // of all entries, in bytes
	turn     uint64                    // the number of the last Fetch
}

// methodEntries are the entries and the running fetches of one method.
type methodEntries struct {
	entries map[key]*entry
	fetches map[*Fetch]struct{}
}

// A key identifies a result by its request and by its scope: public, or private to a
// principal.
type key struct {
	public    bool
	principal string // "" if public
	params    string // what of the params the result depends on
}

// An entry is a stored result.
type entry struct {
	key
	fetch   *Fetch
	result  []byte // never modified
	expires time.Time
	place   *linked.Element // in Cache.used
	index   int             // in Cache.expiry
}

func (e *entry) size() int {
	f := e.fetch
	return entryBytes + len(f.principal) + len(f.params) + len(f.uri) + len(e.result)
}

// Off reports whether the cache stores nothing.
func (c *Cache) Off() bool { return c.Max <= 0 }

// Len returns the number of stored results and of requests in flight.
func (c *Cache) Len() (results, fetches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.byMethod {
		fetches += len(s.fetches)
	}
	return len(c.expiry), fetches
}

// Get returns the fresh result stored for a request, or nil. The caller must not modify it.
func (c *Cache) Get(method, principal string, params []byte, now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(now)
	s := c.byMethod[method]
	if s == nil {
		return nil
	}
	e := s.entries[key{principal: principal, params: string(params)}]
	if e == nil {
		e = s.entries[key{public: true, params: string(params)}]
	}
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e.place)
	return e.result
}

// A Fetch is a request in flight whose result may be stored. The cache keeps track of it,
// because a change notification invalidates the result even if it arrives before the result does.
type Fetch struct {
	cache             *Cache
	method, principal string
	params, uri       string // "" for a list
	turn              uint64
	invalidated       bool
}

// Start registers a request that is about to be sent. The caller must call Finish.
func (c *Cache) Start(method, principal, params, uri string) *Fetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byMethod[method]
	if s == nil {
		if c.byMethod == nil {
			c.byMethod = make(map[string]*methodEntries)
		}
		s = &methodEntries{make(map[key]*entry), make(map[*Fetch]struct{})}
		c.byMethod[method] = s
	}
	c.turn++
	f := &Fetch{cache: c, method: method, principal: principal, params: params, uri: uri,
		turn: c.turn}
	s.fetches[f] = struct{}{}
	return f
}

// Finish ends the fetch of a call that was made at startedAt and returned err. If the server has
// rejected the request, it removes the result from the cache.
func (f *Fetch) Finish(err error, startedAt time.Time) {
	switch _, refused := errors.AsType[*rpc.Error](err); {
	case refused && f.uri == "": // its cursor may be invalid, and then so are all pages
		f.cache.Drop(f.method, "")
	case refused:
		f.Store(nil, startedAt)
	}
	f.end()
}

// end removes the registration of a request, whether it succeeded or not.
func (f *Fetch) end() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	delete(f.cache.byMethod[f.method].fetches, f)
}

// hints returns how long a result is fresh, and whether the cache may serve it to anyone.
func hints(result []byte) (lifetime time.Duration, public bool) {
	var h mcp.CacheHints
	if mcp.Unmarshal(result, &h) != nil {
		return 0, false
	}
	if h.TTLMs != nil {
		const most = int64(1<<63-1) / int64(time.Millisecond)
		lifetime = time.Duration(min(max(*h.TTLMs, 0), most)) * time.Millisecond
	}
	return lifetime, h.CacheScope == mcp.CachePublic
}

// Store stores the result of a request. A nil result means that the request failed. The result
// stored before for the same request is removed in any case, because the latest response replaces
// it.
func (f *Fetch) Store(result []byte, received time.Time) {
	lifetime, public := hints(result)
	e := &entry{key: key{public: public, params: f.params}, fetch: f,
		result: result, expires: received.Add(lifetime)}
	if !e.public {
		e.principal = f.principal
	}
	c := f.cache
	fits := lifetime > 0 && e.size() <= c.Max/maxShare
	if fits {
		e.result = bytes.Clone(result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.invalidated {
		return
	}
	entries := c.byMethod[f.method].entries
	for _, o := range []key{{principal: f.principal, params: f.params},
		{public: true, params: f.params}} {
		if old := entries[o]; old != nil {
			if old.fetch.turn > f.turn {
				return
			}
			c.remove(old)
		}
	}
	if !fits {
		return
	}
	entries[e.key] = e
	e.place = c.used.PushFront(e)
	heap.Push(&c.expiry, e)
	c.size += e.size()
	c.expire(time.Now())
	for c.size > c.Max {
		c.remove(c.used.Back().Value.(*entry))
	}
}

// expire removes the results that are no longer fresh.
func (c *Cache) expire(now time.Time) {
	for len(c.expiry) > 0 && !now.Before(c.expiry[0].expires) {
		c.remove(c.expiry[0])
	}
}

func (c *Cache) remove(e *entry) {
	delete(c.byMethod[e.fetch.method].entries, e.key)
	c.used.Remove(e.place)
	heap.Remove(&c.expiry, e.index)
	c.size -= e.size()
}

// invalidatedMethods lists, for each change notification, the methods whose results it invalidates.
var invalidatedMethods = map[string][]string{
	mcp.NotificationToolListChanged:   {mcp.MethodListTools},
	mcp.NotificationPromptListChanged: {mcp.MethodListPrompts},
	mcp.NotificationResourceListChanged: {mcp.MethodListResources, mcp.MethodListResourceTemplates,
		mcp.MethodListSkills, mcp.MethodGetSkill},
	mcp.NotificationResourceUpdated: {mcp.MethodReadResource},
}

// Invalidate handles any notification of the server, on the reader's goroutine. A notification
// about resources without params invalidates all resources.
func (c *Cache) Invalidate(notification string, params []byte) {
	for _, method := range invalidatedMethods[notification] {
		uri := ""
		if method == mcp.MethodReadResource {
			uri, _ = jsonscan.Text(jsonscan.Member(params, "uri"))
		}
		c.Drop(method, uri)
	}
}

// Drop removes the results of a method and invalidates those in flight. If uri is not "", it only
// affects that resource, the resources below it and those above it.
func (c *Cache) Drop(method, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byMethod[method]
	if s == nil {
		return
	}
	related := func(f *Fetch) bool { return within(f.uri, uri) || within(uri, f.uri) }
	for f := range s.fetches {
		if related(f) {
			f.invalidated = true
		}
	}
	for _, e := range s.entries {
		if related(e.fetch) {
			c.remove(e)
		}
	}
}

// within reports whether uri is top or below it. Every URI is below "".
func within(uri, top string) bool {
	rest, ok := strings.CutPrefix(uri, top)
	return ok && (rest == "" || top == "" || strings.HasSuffix(top, "/") ||
		strings.IndexByte("/?#", rest[0]) >= 0)
}

// expiries is a heap ordered by expiry time.
type expiries []*entry

func (x expiries) Len() int           { return len(x) }
func (x expiries) Less(i, j int) bool { return x[i].expires.Before(x[j].expires) }
func (x expiries) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].index, x[j].index = i, j
}

// Push and Pop implement heap.Interface.
func (x *expiries) Push(e any) {
	e.(*entry).index = len(*x)
	*x = append(*x, e.(*entry))
}

func (x *expiries) Pop() any {
	last := len(*x) - 1
	e := (*x)[last]
	(*x)[last] = nil
	*x = (*x)[:last]
	return e
}
