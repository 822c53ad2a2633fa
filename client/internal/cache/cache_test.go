package cache

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// balance returns the number of results in a cache, and asserts that its counters are right.
func balance(t *testing.T, c *Cache) int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	n, size := 0, 0
	for _, s := range c.byMethod {
		for o, e := range s.entries {
			assert.Equal(t, o, e.key)
			assert.Assert(t, c.expiry[e.index] == e)
			n++
			size += e.size()
		}
	}
	assert.Equal(t, c.used.Len(), n)
	assert.Equal(t, len(c.expiry), n)
	assert.Equal(t, c.size, size)
	assert.Assert(t, c.size <= max(0, c.Max))
	return n
}

// put stores a result with a number of bytes.
func (c *Cache) put(name string, ttl int, bytes int) {
	result := fmt.Sprintf(`{"ttlMs":%d,"x":""}`, ttl)
	result = strings.TrimSuffix(result, `"}`) + strings.Repeat("x", bytes-len(result)) + `"}`
	f := c.Start(mcp.MethodReadResource, "", name, name)
	f.Store([]byte(result), time.Now())
	f.Finish(nil, time.Time{})
}

// has returns the names that are stored. Each letter of names is a name.
func (c *Cache) has(names string) string {
	found := ""
	for _, name := range strings.Split(names, "") {
		if c.Get(mcp.MethodReadResource, "", []byte(name), time.Now()) != nil {
			found += name
		}
	}
	return found
}

// A cache never exceeds its limit: it does not store results that are too large, it removes expired
// results first, and then the least recently used ones.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quarter = 10_000
		c := &Cache{Max: 4 * quarter}
		most := quarter - entryBytes - 2 // the name counts twice
		c.put("a", 60_000, most)
		c.put("b", 1000, most)
		c.put("c", 60_000, most)
		c.put("d", 60_000, most)
		assert.Equal(t, c.size, c.Max)
		c.put("e", 60_000, most+1)
		assert.Equal(t, c.has("abcde"), "abcd")
		c.has("a")
		c.put("e", 60_000, most)
		assert.Equal(t, c.has("abcde"), "acde")
		c.Drop(mcp.MethodReadResource, "d")
		c.put("f", 1000, most)
		c.has("f")
		time.Sleep(time.Second)
		c.put("g", 60_000, most)
		assert.Equal(t, c.has("abcdefg"), "aceg")
		c.put("g", 60_000, 100) // it replaces the earlier result
		c.put("h", 60_000, most-100-entryBytes-2)
		assert.Equal(t, c.has("acegh"), "acegh")
		assert.Equal(t, balance(t, c), 5)
		time.Sleep(time.Minute)
		assert.Equal(t, c.has("h"), "")
		_, fetches := c.Len()
		assert.Equal(t, balance(t, c), 0)
		assert.Equal(t, fetches, 0)

		order := rand.New(rand.NewPCG(1, 2))
		for range 10_000 {
			c.put(fmt.Sprint(order.IntN(100)), order.IntN(5), order.IntN(2*most)+30)
			time.Sleep(time.Millisecond / 2)
			if order.IntN(20) == 0 {
				c.Drop(mcp.MethodReadResource, fmt.Sprint(order.IntN(100)))
			}
			balance(t, c)
		}
	})
}

// entryBytes is about the memory of an entry without its bytes.
func TestOverhead(t *testing.T) {
	c := &Cache{Max: 16 << 20}
	before := heapInUse()
	const n = 20_000
	for i := range n {
		c.put(fmt.Sprintf("%020d", i), 60_000, 40)
	}
	cost := int(heapInUse()-before) / n
	assert.Equal(t, balance(t, c), n)
	assert.Assert(t, cost > 200 && cost < entryBytes+80, "%d bytes", cost)
	runtime.KeepAlive(c)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
