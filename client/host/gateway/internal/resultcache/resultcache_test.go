package resultcache_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
)

func key(t *testing.T, principal, arguments string) resultcache.Key {
	t.Helper()
	k, ok := resultcache.KeyOf(principal, []byte(`{"name":"a"}`), []byte(arguments))
	assert.Assert(t, ok)
	return k
}

// do makes a call with this result, and reports whether it was made.
func do(t *testing.T, c *resultcache.Cache, k resultcache.Key, result string) (got string,
	made bool) {
	t.Helper()
	raw, cached, err := c.Do(t.Context(), k, func() (json.RawMessage, error) {
		made = true
		return json.RawMessage(result), nil
	})
	assert.NilError(t, err)
	assert.Equal(t, cached, !made)
	return string(raw), made
}

func TestKey(t *testing.T) {
	_, ok := resultcache.KeyOf("", nil, []byte(`{"a":1,"a":2}`))
	assert.Assert(t, !ok)
	assert.Equal(t, key(t, "", `{"a":1,"b":2}`), key(t, "", ` { "b":2, "a":1}`))
	assert.Assert(t, key(t, "", `{}`) != key(t, "ada", `{}`))
	other, _ := resultcache.KeyOf("", []byte(`{"name":"b"}`), []byte(`{}`))
	assert.Assert(t, key(t, "", `{}`) != other)
}

// What a result says about caching is obeyed.
func TestHints(t *testing.T) {
	for result, want := range map[string]time.Duration{
		`{}`: time.Minute, `{"ttlMs":1000}`: time.Second, `{"ttlMs":1e9}`: time.Minute,
		`{"ttlMs":0}`: 0, `{"ttlMs":-1}`: 0, `{"ttlMs":"x"}`: 0, `{"isError":true}`: 0,
		`{"resultType":"complete"}`: time.Minute, `{"resultType":"input_required"}`: 0,
		`{"resultType":"task"}`: 0} {
		synctest.Test(t, func(t *testing.T) {
			c := resultcache.New(resultcache.NewPool(), time.Minute, false)
			k := key(t, "ada", `{}`)
			do(t, c, k, result)
			if want > 0 {
				time.Sleep(want - time.Millisecond)
				got, made := do(t, c, k, `{}`)
				assert.Assert(t, !made)
				if strings.Contains(result, "ttlMs") {
					assert.Equal(t, got, `{"ttlMs":1}`)
				} else {
					assert.Equal(t, got, result)
				}
				time.Sleep(time.Millisecond)
			}
			_, made := do(t, c, k, result)
			assert.Assert(t, made, result)
		})
	}
}

// While a call that was given up may change something, no results are kept.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := resultcache.New(resultcache.NewPool(), time.Hour, false)
		k := key(t, "ada", `{}`)
		do(t, c, k, `{}`)
		c.Doubt()
		for range 2 {
			_, made := do(t, c, k, `{}`)
			assert.Assert(t, made)
		}
		time.Sleep(time.Minute)
		do(t, c, k, `{}`)
		_, made := do(t, c, k, `{}`)
		assert.Assert(t, !made)
		(*resultcache.Cache)(nil).Doubt()
	})
}

func TestScope(t *testing.T) {
	for _, test := range []struct {
		public bool
		result string
		shared bool
	}{{false, `{"cacheScope":"public"}`, false}, {true, `{"cacheScope":"public"}`, true},
		{true, `{}`, true}, {true, `{"cacheScope":"private"}`, false},
		{true, `{"cacheScope":"x"}`, false}} {
		c := resultcache.New(resultcache.NewPool(), time.Hour, test.public)
		do(t, c, key(t, "ada", `{}`), test.result)
		_, made := do(t, c, key(t, "bob", `{}`), test.result)
		assert.Equal(t, !made, test.shared)
		_, made = do(t, c, key(t, "ada", `{}`), test.result)
		assert.Assert(t, !made)
		_, made = do(t, c, key(t, "ada", `{"a":1}`), test.result)
		assert.Assert(t, made)
		c.Drop()
		_, made = do(t, c, key(t, "ada", `{}`), test.result)
		assert.Assert(t, made)
		c.Close()
		do(t, c, key(t, "ada", `{}`), test.result)
		_, made = do(t, c, key(t, "ada", `{}`), test.result)
		assert.Assert(t, made)
	}
}

// Equal calls are made once at a time. What a call returns that was made before Drop is not kept,
// nor given to calls that begin afterwards.
func TestFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := resultcache.New(resultcache.NewPool(), time.Hour, true)
		release, calls := make(chan error), 0
		var mu sync.Mutex
		var all sync.WaitGroup
		begin := func(ctx context.Context, principal string) *error {
			failure := new(error)
			all.Go(func() {
				_, _, *failure = c.Do(ctx, key(t, principal, `{}`), func() (json.RawMessage, error) {
					mu.Lock()
					calls++
					mu.Unlock()
					return json.RawMessage(`{}`), <-release
				})
			})
			synctest.Wait()
			return failure
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin(t.Context(), "ada")
		begin(t.Context(), "bob")
		cancelled := begin(ctx, "bob")
		cancel()
		synctest.Wait()
		assert.ErrorIs(t, *cancelled, context.Canceled)
		assert.Equal(t, calls, 1)
		c.Drop()
		begin(t.Context(), "bob")
		assert.Equal(t, calls, 2)
		release <- nil
		release <- nil
		all.Wait()
		c.Drop()

		// The error of a call is not that of another.
		first := begin(t.Context(), "ada")
		second := begin(t.Context(), "bob")
		assert.Equal(t, calls, 3)
		failed := errors.New("it failed")
		release <- failed
		synctest.Wait()
		assert.Equal(t, *first, failed)
		assert.Equal(t, calls, 4)
		release <- nil
		all.Wait()
		assert.NilError(t, *second)
	})
}

// The results of a principal take no more than its share.
func TestMemory(t *testing.T) {
	pool := resultcache.NewPool()
	c := resultcache.New(pool, time.Hour, false)
	large := `{"a":"` + strings.Repeat("x", 7<<20) + `"}`
	do(t, c, key(t, "bob", `{}`), large)
	for i := range 10 {
		do(t, c, key(t, "ada", `{"a":`+string(rune('0'+i))+`}`), large)
	}
	assert.Assert(t, pool.Held("ada") <= pool.MaxHeld("ada"))
	_, made := do(t, c, key(t, "bob", `{}`), large)
	assert.Assert(t, !made)
	_, made = do(t, c, key(t, "ada", `{"a":9}`), large)
	assert.Assert(t, !made)
	_, made = do(t, c, key(t, "ada", `{"a":0}`), large)
	assert.Assert(t, made)
	huge := `{"a":"` + strings.Repeat("x", 9<<20) + `"}`
	do(t, c, key(t, "ada", `{"b":0}`), huge)
	_, made = do(t, c, key(t, "ada", `{"b":0}`), huge)
	assert.Assert(t, made)
	c.Close()
	assert.Equal(t, pool.Used(), int64(0))
}
