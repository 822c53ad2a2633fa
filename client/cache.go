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
	entryBytes   = 512      // about what a result takes besides its bytes and those of its request
)

// A Cache keeps results of a modern server that may be used again (2026-07-28, Caching), as the server wrote them and for as long as it says: see the package
// comment, "Caching". Any number of clients may share it, as their [Options].Cache, but only clients of the same server: whose results they are, it does not
// know. It is safe for concurrent use.
type Cache struct {
	max int // bytes

	mu      sync.Mutex
	byMethod map[string]*methodEntries // by method
	used    linked.List       // all entries, the one that was used last in front
	expiry  expiries          // all entries, the one that expires first on top
	size    int               // of all entries
	turn    uint64            // the last that was given to a fetching
}

// A shelf is what there is of one method.
type methodEntries struct {
	entries map[cacheKey]*entry
	fetches   map[*cacheFetch]struct{}
}

// An cacheKey is the request that a result answers, and whom: everybody, or one principal.
type cacheKey struct {
	public    bool
	principal string // "" if public
	params    string // see [call.identity]
}

// An entry is a result that is kept.
type entry struct {
	cacheKey
	fetch *cacheFetch
	result  []byte // is never changed
	expires time.Time
	place   *linked.Element // in Cache.used
	index   int             // in Cache.expiry
}

func (e *entry) size() int {
	f := e.fetch
	return entryBytes + len(f.principal) + len(f.params) + len(f.uri) + len(e.result)
}

// NewCache returns a cache that takes maxBytes at most, the requests that its results answer included. When it is full, what has not been used for longest
// goes; a result that would take more than a quarter is not kept. With 0 or less, nothing is.
func NewCache(maxBytes int) *Cache {
	return &Cache{max: maxBytes, byMethod: make(map[string]*methodEntries)}
}

// get returns the fresh result that is kept for a request; nil if there is none. It must not be changed.
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

// A fetching is a request on its way whose result may be kept. It is known to the cache, because what changes meanwhile outdates the result before it is there.
type cacheFetch struct {
	cache             *Cache
	method, principal string
	params, uri       string // uri is "" for a list
	turn              uint64
	invalidated          bool
}

// ask notes that a request is about to be sent. The fetching has to be ended.
func (c *Cache) startFetch(method, principal, params, uri string) *cacheFetch {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byMethod[method]
	if s == nil {
		s = &methodEntries{make(map[cacheKey]*entry), make(map[*cacheFetch]struct{})}
		c.byMethod[method] = s
	}
	c.turn++
	f := &cacheFetch{cache: c, method: method, principal: principal, params: params, uri: uri, turn: c.turn}
	s.fetches[f] = struct{}{}
	return f
}

// end is called once a request is over, whatever became of it.
func (f *cacheFetch) end() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	delete(f.cache.byMethod[f.method].fetches, f)
}

// keep takes the result of a request; nil is that there was an error. What was kept for the request goes even if nothing comes in its place: the server's latest
// word counts.
func (f *cacheFetch) keep(result []byte, received time.Time) {
	var hints mcp.CacheHints
	if mcp.Unmarshal(result, &hints) != nil {
		hints = mcp.CacheHints{}
	}
	e := &entry{cacheKey: cacheKey{public: hints.Public(), params: f.params}, fetch: f, result: result, expires: received.Add(hints.TTL())}
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
	for _, o := range []cacheKey{{principal: f.principal, params: f.params}, {public: true, params: f.params}} {
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

// expire removes what is not fresh any more.
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

// outdates are the methods whose results a notification says to be different from now on.
var invalidatedMethods = map[string][]string{
	mcp.NotificationToolListChanged:     {mcp.MethodListTools},
	mcp.NotificationPromptListChanged:   {mcp.MethodListPrompts},
	mcp.NotificationResourceListChanged: {mcp.MethodListResources, mcp.MethodListResourceTemplates},
	mcp.NotificationResourceUpdated:     {mcp.MethodReadResource},
}

// notified takes any notification of the server's, on the reader's goroutine. Without params, one about resources is about all of them.
func (c *Cache) invalidate(notification string, params []byte) {
	for _, method := range invalidatedMethods[notification] {
		uri := ""
		if method == mcp.MethodReadResource {
			uri, _ = jsonscan.Text(jsonscan.Member(params, "uri"))
		}
		c.drop(method, uri)
	}
}

// drop removes the results of a method, and outdates those on their way; of resources only that of the URI, of what lies below it, and of what it lies below,
// unless the URI is "".
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

// within reports whether a URI is that of top, or of something below it. Everything is below "".
func within(uri, top string) bool {
	rest, ok := strings.CutPrefix(uri, top)
	return ok && (rest == "" || top == "" || strings.HasSuffix(top, "/") || strings.IndexByte("/?#", rest[0]) >= 0)
}

// expiries is a heap by the time of expiry.
type expiries []*entry

func (x expiries) Len() int           { return len(x) }
func (x expiries) Less(i, j int) bool { return x[i].expires.Before(x[j].expires) }
func (x expiries) Swap(i, j int) {
	x[i], x[j] = x[j], x[i]
	x[i].index, x[j].index = i, j
}

// Push and Pop are for container/heap.
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
