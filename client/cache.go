package client

import (
	"bytes"
	"container/heap"
	linked "container/list" // list is ours
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	defaultCache = 16 << 20 // bytes
	maxShare     = 4        // no result is kept that takes more than this part of a cache
	entryBytes   = 512      // about the size of a result without its bytes and those of its request
)

// A Cache stores results of modern servers for as long as the server allows (2026-07-28, Caching),
// every byte as the server wrote it. See "Caching" in the package comment. Several clients may
// share a Cache through [Options].Cache, but only if they are clients of the same server: a Cache
// does not record the server of a result. It is safe for concurrent use.
type Cache struct {
	max int // in bytes

	mu       sync.Mutex
	byMethod map[string]*methodEntries // by method
	used     linked.List               // all entries, the most recently used first
	expiry   expiries                  // all entries, the next one to expire first
	size     int                       // of all entries, in bytes
	turn     uint64                    // the number of the last cacheFetch
}

// methodEntries are the entries and the running fetches of one method.
type methodEntries struct {
	entries map[cacheKey]*entry
	fetches map[*cacheFetch]struct{}
}

// A cacheKey identifies a result by its request and by its scope: public, or private to a
// principal.
type cacheKey struct {
	public    bool
	principal string // "" if public
	params    string // see [call.cacheParams]
}

// An entry is a stored result.
type entry struct {
	cacheKey
	fetch   *cacheFetch
	result  []byte // never modified
	expires time.Time
	place   *linked.Element // in Cache.used
	index   int             // in Cache.expiry
}

func (e *entry) size() int {
	f := e.fetch
	return entryBytes + len(f.principal) + len(f.params) + len(f.uri) + len(e.result)
}

// NewCache returns a cache of at most maxBytes bytes, which include the params of the requests.
// When it is full, it removes the least recently used results. It does not store a result larger
// than a quarter of maxBytes. If maxBytes is 0 or less, it stores nothing.
func NewCache(maxBytes int) *Cache {
	return &Cache{max: maxBytes, byMethod: make(map[string]*methodEntries)}
}

// get returns the fresh result stored for a request, or nil. The caller must not modify it.
func (c *Cache) get(method, principal string, params []byte, now time.Time) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(now)
	s := c.byMethod[method]
	if s == nil {
		return nil
	}
	e := s.entries[cacheKey{principal: principal, params: string(params)}]
	if e == nil {
		e = s.entries[cacheKey{public: true, params: string(params)}]
	}
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e.place)
	return e.result
}

// A cacheFetch is a request in flight whose result may be stored. The cache keeps track of it,
// because a change notification invalidates the result even if it arrives before the result does.
type cacheFetch struct {
	cache             *Cache
	method, principal string
	params, uri       string // "" for a list
	turn              uint64
	invalidated       bool
}

// startFetch registers a request that is about to be sent. The caller must call end.
func (c *Cache) startFetch(method, principal, params, uri string) *cacheFetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byMethod[method]
	if s == nil {
		s = &methodEntries{make(map[cacheKey]*entry), make(map[*cacheFetch]struct{})}
		c.byMethod[method] = s
	}
	c.turn++
	f := &cacheFetch{cache: c, method: method, principal: principal, params: params, uri: uri,
		turn: c.turn}
	s.fetches[f] = struct{}{}
	return f
}

// end removes the registration of a request, whether it succeeded or not.
func (f *cacheFetch) end() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	delete(f.cache.byMethod[f.method].fetches, f)
}

// store stores the result of a request. A nil result means that the request failed. The result
// stored before for the same request is removed in any case, because the latest response replaces
// it.
func (f *cacheFetch) store(result []byte, received time.Time) {
	var hints mcp.CacheHints
	if mcp.Unmarshal(result, &hints) != nil {
		hints = mcp.CacheHints{}
	}
	e := &entry{cacheKey: cacheKey{public: hints.Public(), params: f.params}, fetch: f,
		result: result, expires: received.Add(hints.TTL())}
	if !e.public {
		e.principal = f.principal
	}
	c := f.cache
	fits := hints.TTL() > 0 && e.size() <= c.max/maxShare
	if fits {
		e.result = bytes.Clone(result)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.invalidated {
		return
	}
	entries := c.byMethod[f.method].entries
	for _, o := range []cacheKey{{principal: f.principal, params: f.params},
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
	entries[e.cacheKey] = e
	e.place = c.used.PushFront(e)
	heap.Push(&c.expiry, e)
	c.size += e.size()
	c.expire(time.Now())
	for c.size > c.max {
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
	delete(c.byMethod[e.fetch.method].entries, e.cacheKey)
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

// invalidate handles any notification of the server, on the reader's goroutine. A notification
// about resources without params invalidates all resources.
func (c *Cache) invalidate(notification string, params []byte) {
	for _, method := range invalidatedMethods[notification] {
		uri := ""
		if method == mcp.MethodReadResource {
			uri, _ = jsonscan.Text(jsonscan.Member(params, "uri"))
		}
		c.drop(method, uri)
	}
}

// drop removes the results of a method and invalidates those in flight. If uri is not "", it only
// affects that resource, the resources below it and those above it.
func (c *Cache) drop(method, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byMethod[method]
	if s == nil {
		return
	}
	related := func(f *cacheFetch) bool { return within(f.uri, uri) || within(uri, f.uri) }
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
