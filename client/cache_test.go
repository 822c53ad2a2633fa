package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// assertEmpty asserts that nothing is left in a cache.
func assertEmpty(t *testing.T, c *Cache) {
	t.Helper()
	results, fetches := c.results.Len()
	assert.Equal(t, results, 0)
	assert.Equal(t, fetches, 0)
}

func TestNoCache(t *testing.T) {
	for _, cache := range []*Cache{NewCache(0), NewCache(-1), new(Cache)} {
		c, src := answer(t, Options{Cache: cache}, all, stock(60_000, "public"))
		read(t, c, "a:1")
		read(t, c, "a:1")
		assert.NilError(t, c.Close())
		assert.Equal(t, len(src.asked), 2)
		assertEmpty(t, cache)
	}
}

// Clients do not share a cache unless they are configured to.
func TestCacheOfItsOwn(t *testing.T) {
	o := Options{}
	for range 2 {
		c, src := answer(t, o, all, stock(60_000, "public"))
		read(t, c, "a:1")
		read(t, c, "a:1")
		assert.NilError(t, c.Close())
		assert.Equal(t, len(src.asked), 1)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Results that may not be stored use no memory, however many there are.
func TestCacheOfNothing(t *testing.T) {
	const callers, each = 20, 5000
	here, there := both(t)
	server := rpc.Options{Handler: func(_ context.Context, r *rpc.Request) (any, error) {
		if r.Method == mcp.MethodDiscover {
			return json.RawMessage(everything), nil
		}
		return json.RawMessage(hinted(0, "public", `"contents":[]`)), nil
	}}.New(there)
	c, err := Connect(t.Context(), Stream(here))
	assert.NilError(t, err)
	var wg sync.WaitGroup
	reads := func(round int) {
		for caller := range callers {
			wg.Go(func() {
				for i := range each {
					_, err := c.ReadResource(t.Context(),
						fmt.Sprintf("a:%d/%d/%d/%s", round, caller, i, pad(100)))
					assert.Check(t, err)
				}
			})
		}
		wg.Wait()
	}
	_, err = c.ReadResource(t.Context(), "a:0")
	assert.NilError(t, err)
	before := heapInUse()
	reads(1)
	assertEmpty(t, c.o.Cache)
	assert.Assert(t, heapInUse() < before+1<<20)
	shut(t, c)
	_ = server.Wait()
}

// both returns the ends of a stream, over pipes like those of a process.
func both(t testing.TB) (here, there io.ReadWriteCloser) {
	r1, w1, err := os.Pipe()
	assert.NilError(t, err)
	r2, w2, err := os.Pipe()
	assert.NilError(t, err)
	return duplex{r2, w1}, duplex{r1, w2}
}

// A private result is used only for the same principal, and a result without a scope is private.
// The latest scope counts.
func TestCacheScope(t *testing.T) {
	for _, test := range []struct {
		scope  string
		shared bool
	}{{`"public"`, true}, {`"private"`, false}, {`"PUBLIC"`, false}, {`"anybody"`, false},
		{`""`, false}, {`7`, false}, {`null`, false}, {``, false}} {
		bubble(t, "scope "+test.scope, func(t *testing.T) {
			cache := NewCache(1 << 20)
			result := `{"contents":[],"ttlMs":60000`
			if test.scope != "" {
				result += `,"cacheScope":` + test.scope
			}
			ask := func(principal string) bool {
				c, src := answer(t, Options{Cache: cache, Principal: principal}, all,
					func(string) string { return result + `}` })
				_, err := c.Call(t.Context(), mcp.MethodReadResource,
					map[string]string{"uri": "a:1"})
				assert.NilError(t, err)
				return src.since() != ""
			}
			assert.Assert(t, ask("ada"))
			assert.Equal(t, ask("eve"), !test.shared)
			assert.Equal(t, ask(""), !test.shared)
			assert.Equal(t, ask("ada"), test.scope == "7")
		})
	}
	bubble(t, "both", func(t *testing.T) {
		cache := NewCache(1 << 20)
		result := func(principal, scope, text string, opts ...CallOption) string {
			c, _ := answer(t, Options{Cache: cache, Principal: principal}, all,
				func(string) string {
					return hinted(60_000, scope,
						fmt.Sprintf(`"contents":[{"uri":"a:1","text":%q}]`, text))
				})
			r, err := c.ReadResource(t.Context(), "a:1", opts...)
			assert.NilError(t, err)
			return r.Contents[0].Text
		}
		assert.Equal(t, result("ada", "private", "1"), "1")
		assert.Equal(t, result("eve", "public", "2"), "2")
		assert.Equal(t, result("bob", "public", "3"), "2")
		assert.Equal(t, result("ada", "public", "4"), "1")
		assert.Equal(t, result("ada", "public", "5", Fresh()), "5")
		assert.Equal(t, result("eve", "public", "6"), "5")
		assert.Equal(t, result("eve", "private", "7", Fresh()), "7")
		assert.Equal(t, result("bob", "private", "8"), "8")
		results, _ := cache.results.Len()
		assert.Equal(t, results, 2)
	})
}

// A call that ends in any other way leaves no entry.
func TestCacheAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, Options{}, func(s *scripted) {
			all(s)
			s.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
			m := s.read()
			s.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
			s.read()
			s.reply(m, hinted(60_000, "public", `"contents":[]`))
			s.hold()
		})
		func() {
			defer func() { assert.Equal(t, recover(), "boom") }()
			_, _ = c.ReadResource(t.Context(), "a:1",
				OnProgress(func(mcp.ProgressParams) { panic("boom") }))
		}()
		_, err := c.ReadResource(t.Context(), "a:2", Timeout(time.Second))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assertEmpty(t, c.o.Cache)
	})
}

// Many goroutines and clients use one cache, with changes, evictions and expiry in between. A call
// returns the requested result, and never one that is older than a change announced before the
// call.
func TestCacheCrowd(t *testing.T) {
	const clients, callers, each, uris = 3, 6, 300, 6
	// the version that the server has, and the latest version that was announced
	var now, told [uris]atomic.Int64
	var reads atomic.Int64
	handler := func(ctx context.Context, r *rpc.Request) (any, error) {
		n := 0
		uri, _ := jsonscan.Text(jsonscan.Member(r.Params, "uri"))
		_, _ = fmt.Sscanf(uri, "a:%d", &n)
		switch r.Method {
		case mcp.MethodDiscover:
			return json.RawMessage(everything), nil
		case "x/change":
			version := now[n].Add(1)
			_ = r.Peer().Notify(ctx, mcp.NotificationResourceUpdated,
				mcp.ResourceParams{URI: uri})
			return version, nil
		}
		version := now[n].Load()
		reads.Add(1)
		runtime.Gosched()
		scope := []string{"public", "private"}[n%2]
		return json.RawMessage(
			hinted([]int{1, 3, 60_000}[n%3], scope,
				fmt.Sprintf(`"contents":[{"uri":%q,"text":"%d"}]`, uri, version))), nil
	}
	cache := NewCache(4 * (2 * 512)) // of all but the largest results
	var wg sync.WaitGroup
	for k := range clients {
		here, there := both(t)
		server := rpc.Options{Handler: handler}.New(there)
		c, err := Options{Cache: cache, Principal: fmt.Sprint(k % 2)}.Connect(t.Context(),
			Stream(here))
		assert.NilError(t, err)
		t.Cleanup(func() { shut(t, c); _ = server.Wait() })
		for caller := range callers {
			wg.Go(func() {
				for i := range each {
					n := (i*7 + caller + k) % uris
					uri := fmt.Sprint("a:", n)
					if i%10 == 9 {
						raw, err := c.Call(t.Context(), "x/change", map[string]string{"uri": uri})
						assert.Check(t, err)
						version, _ := strconv.ParseInt(string(raw), 10, 64)
						for old := told[n].Load(); old < version &&
							!told[n].CompareAndSwap(old, version); old = told[n].Load() {
						}
						continue
					}
					least := told[n].Load()
					r, err := c.ReadResource(t.Context(), uri)
					if !assert.Check(t, err) {
						return
					}
					version, _ := strconv.ParseInt(r.Contents[0].Text, 10, 64)
					assert.Check(t, r.Contents[0].URI == uri &&
						version >= least, "%s, and version %d of %s is less than %d",
						r.Contents[0].URI, version, uri, least)
				}
			})
		}
	}
	wg.Wait()
	results, _ := cache.results.Len()
	assert.Assert(t, results <= uris+uris/2)
	assert.Assert(t, reads.Load() < clients*callers*each*9/10) // some results came from the cache
}

// BenchmarkHit measures a call that is answered from the cache, with a text of 4 KiB.
func BenchmarkHit(b *testing.B) {
	here, there := both(b)
	server := rpc.Options{Handler: func(_ context.Context, r *rpc.Request) (any, error) {
		if r.Method == mcp.MethodDiscover {
			return json.RawMessage(everything), nil
		}
		return json.RawMessage(
			hinted(3_600_000, "public", `"contents":[{"uri":"file:///a","text":"`+pad(4096)+
				`"}]`)), nil
	}}.New(there)
	c, err := Connect(context.Background(), Stream(here))
	assert.NilError(b, err)
	b.Cleanup(func() { c.Close(); c.Wait(); server.Wait() })
	raw := func(opts ...CallOption) func() error {
		return func() error {
			_, err := c.Call(context.Background(), mcp.MethodReadResource,
				json.RawMessage(`{"uri":"file:///a"}`), opts...)
			return err
		}
	}
	for _, run := range []struct {
		name string
		call func() error
	}{
		{"raw", raw()},
		{"typed", func() error {
			_, err := c.ReadResource(context.Background(), "file:///a")
			return err
		}},
		{"raw, fresh", raw(Fresh())},
	} {
		b.Run(run.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
