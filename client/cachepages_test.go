package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// paged returns a list of three pages, each with its own hints. Its cursors are valid for one
// generation.
func paged(generation *int, ttls ...int) func(what string) string {
	return func(what string) string {
		n := 0
		if _, cursor, ok := strings.Cut(what, " "); ok {
			var of int
			_, _ = fmt.Sscanf(cursor, "%d.%d", &of, &n)
			if of != *generation {
				return ""
			}
		}
		members := fmt.Sprintf(`"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]`, n)
		if n < 2 {
			members += fmt.Sprintf(`,"nextCursor":"%d.%d"`, *generation, n+1)
		}
		return hinted(ttls[n], "private", members)
	}
}

// Pages with the same cursor have the same key in the cache, which must not mix them up.
func TestCacheOfAConstantCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c, _ := answer(t, Options{}, all, func(what string) string {
			if what == "tools/list" {
				n = 0
			}
			members := fmt.Sprintf(`"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]`, n)
			if n++; n < 4 {
				members += `,"nextCursor":"next"`
			}
			return hinted(60_000, "private", members)
		})
		for range 3 {
			assert.Equal(t, names(c.Tools(t.Context()), toolName), "t0 t1 t2 t3")
		}
	})
}

// Each page is stored separately. An expired page is fetched with its cursor. If the cursor is no
// longer valid, all stored pages are fetched again, and the caller does not notice.
func TestCachePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		generation := 1
		c, src := answer(t, Options{}, all, paged(&generation, 60_000, 10_000, 30_000))
		tools := func(opts ...CallOption) string {
			return names(c.Tools(t.Context(), opts...), toolName)
		}
		assert.Equal(t, tools(), "t0 t1 t2")
		assert.Equal(t, src.since(), "tools/list, tools/list 1.1, tools/list 1.2")
		assert.Equal(t, tools(), "t0 t1 t2")
		assert.Equal(t, src.since(), "")
		time.Sleep(15 * time.Second)
		assert.Equal(t, tools(), "t0 t1 t2")
		assert.Equal(t, src.since(), "tools/list 1.1")
		time.Sleep(9 * time.Second)
		generation = 2
		assert.Equal(t, tools(), "t0 t1 t2") // from the cache only
		assert.Equal(t, src.since(), "")
		time.Sleep(9 * time.Second) // the second and the third page expire
		again := c.Tools(t.Context())
		assert.Equal(t, names(again, toolName), "t0 t1 t2")
		assert.Equal(t, src.since(), "tools/list 1.1, tools/list, tools/list 2.1, tools/list 2.2")
		assert.Equal(t, names(again, toolName), "t0 t1 t2")
		assert.Equal(t, src.since(), "")
		assert.Equal(t, tools(Fresh()), "t0 t1 t2")
		assert.Equal(t, src.since(), "tools/list, tools/list 2.1, tools/list 2.2")

		// a caller that requests pages itself gets an error for the old cursor, and then a new
		// first page
		generation = 3
		_, err := c.Call(t.Context(), "tools/list", map[string]string{"cursor": "1.1"})
		assert.ErrorIs(t, err, rpc.ErrInvalidParams)
		page, err := c.Call(t.Context(), "tools/list", nil)
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(page), `"nextCursor":"3.1"`))
		assert.Equal(t, src.since(), "tools/list 1.1, tools/list")
	})
}

// Pages that were fetched are not fetched again because a later cached page is invalid. Pages that
// were held back precede an error.
func TestCachePagesHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, silent := false, false
		c, src := answer(t, Options{CallTimeout: time.Second}, all, func(what string) string {
			_, cursor, _ := strings.Cut(what, " ")
			switch {
			case silent:
				return "-"
			case cursor == "3" && refused:
				refused = false
				return ""
			}
			n := len(cursor)
			if n > 0 {
				n = int(cursor[0] - '0')
			}
			members := fmt.Sprintf(`"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]`, n)
			if n < 4 {
				members += fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
			}
			return hinted([]int{0, 60_000, 60_000, 10_000, 60_000}[n], "private", members)
		})
		tools := func() string { return names(c.Tools(t.Context()), toolName) }
		assert.Equal(t, tools(), "t0 t1 t2 t3 t4")
		src.since()
		time.Sleep(10 * time.Second)
		refused = true
		assert.Equal(t, tools(), "t0 t1 t2 t3 t4")
		assert.Equal(t, src.since(),
			"tools/list, tools/list 3, tools/list 1, tools/list 2, tools/list 3, tools/list 4")
		for range c.Tools(t.Context()) { // the caller may stop early
			break
		}
		assert.Equal(t, src.since(), "tools/list")
		time.Sleep(10 * time.Second)
		got := []string{}
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				got = append(got, "error")
				break
			}
			if tool.Name == "t0" {
				silent = true
			}
			got = append(got, tool.Name)
		}
		assert.DeepEqual(t, got, []string{"t0", "t1", "t2", "error"})
		assert.Equal(t, src.since(), "tools/list, tools/list 3, notifications/cancelled")
	})
}

// A server that rejects cursors that it has just returned is asked once. A server with many pages
// may have to send each page twice.
func TestCachePagesUnhappy(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		c, src := answer(t, Options{}, all, func(what string) string {
			if what != "tools/list" {
				return ""
			}
			return hinted(60_000, "public", `"tools":[],"nextCursor":"1"`)
		})
		for range 2 {
			assert.ErrorContains(t, errors.New(names(c.Tools(t.Context()), func(*mcp.Tool) string {
				return ""
			})), "Invalid params (code -32602)")
			assert.Equal(t, src.since(), "tools/list, tools/list 1")
		}
	})
	bubble(t, "many", func(t *testing.T) {
		generation := 1
		c, src := answer(t, Options{}, all, func(what string) string {
			of, n := generation, 0
			if _, cursor, ok := strings.Cut(what, " "); ok {
				_, _ = fmt.Sscanf(cursor, "%d.%d", &of, &n)
			}
			if of != generation {
				return ""
			}
			members := fmt.Sprintf(`"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]`, n)
			if n == maxPages-1 {
				return hinted(1000, "private", members)
			}
			return hinted(60_000, "private", members+
				fmt.Sprintf(`,"nextCursor":"%d.%d"`, generation, n+1))
		})
		want := names(c.Tools(t.Context()), toolName)
		assert.Assert(t, strings.HasSuffix(want, " t999"))
		time.Sleep(time.Second)
		src.since()
		generation = 2
		assert.Equal(t, names(c.Tools(t.Context()), toolName), want)
		assert.Equal(t, strings.Count(src.since(), ","), maxPages)
	})
}
