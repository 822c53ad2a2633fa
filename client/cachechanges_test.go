package client

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// stocked fills a client's cache. It returns a function that makes all the calls again and returns
// the requests that the server got.
func stocked(t *testing.T, c *Client, src *source) func() string {
	again := func() string {
		ctx := t.Context()
		for _, method := range []string{"server/discover", "tools/list", "prompts/list",
			"resources/list", "resources/templates/list"} {
			_, err := c.Call(ctx, method, nil)
			assert.NilError(t, err)
		}
		for _, uri := range []string{"a:1", "a:1/x", "a:1/x/y", "a:1?q", "a:10", "a:2", "b:/"} {
			read(t, c, uri)
		}
		return src.since()
	}
	assert.Equal(t, strings.Count(again(), ","), 11)
	assert.Equal(t, again(), "")
	return again
}

// A notification invalidates the results that it is about, and no others.
func TestCacheNotified(t *testing.T) {
	const reads = "resources/read a:1, resources/read a:1/x, resources/read a:1/x/y, resources/read a:1?q, resources/read a:10, resources/read a:2, resources/read b:/"
	for _, test := range []struct{ notification, params, want string }{
		{"tools/list_changed", `{}`, "tools/list"},
		{"prompts/list_changed", `{}`, "prompts/list"},
		{"resources/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}`,
			"resources/list, resources/templates/list"},
		{"resources/updated", `{"uri":"a:2"}`, "resources/read a:2"},
		{"resources/updated", `{"uri":"\u0061:2"}`, "resources/read a:2"},
		{"resources/updated", `{"uri":"a:1"}`,
			"resources/read a:1, resources/read a:1/x, resources/read a:1/x/y, resources/read a:1?q"},
		{"resources/updated", `{"uri":"a:1/x"}`,
			"resources/read a:1, resources/read a:1/x, resources/read a:1/x/y"},
		{"resources/updated", `{"uri":"a:1/z"}`, "resources/read a:1"},
		{"resources/updated", `{"uri":"b:/c"}`, "resources/read b:/"},
		{"resources/updated", `{"uri":"b:"}`, "resources/read b:/"},
		{"resources/updated", `{"uri":"a:"}`, ""},
		{"resources/updated", `{"uri":7}`, reads},
		{"resources/updated", `{}`, reads},
		{"message", `{"level":"info","data":1}`, ""},
		{"progress", `{"progressToken":1,"progress":1}`, ""},
		{"tools/updated", `{"uri":"a:1"}`, ""},
	} {
		bubble(t, test.notification+" "+test.params, func(t *testing.T) {
			c, src := answer(t, Options{}, all, stock(60_000, "private"))
			again := stocked(t, c, src)
			src.notify("notifications/"+test.notification, test.params)
			synctest.Wait()
			assert.Equal(t, again(), test.want)
			assert.Equal(t, again(), "")
		})
	}
}

// A result that was requested before a change is not stored after it, whether it arrives before or
// after the notification. The change does not affect unrelated results.
func TestCacheOutdated(t *testing.T) {
	for _, test := range []struct {
		method, uri, notification, params string
		kept                              bool
	}{
		{"tools/list", "", "tools/list_changed", `{}`, false},
		{"tools/list", "", "prompts/list_changed", `{}`, true},
		{"resources/templates/list", "", "resources/list_changed", `{}`, false},
		{"resources/read", "a:1", "resources/updated", `{"uri":"a:1"}`, false},
		{"resources/read", "a:1/x", "resources/updated", `{"uri":"a:1"}`, false},
		{"resources/read", "a:1", "resources/updated", `{"uri":"a:2"}`, true},
		{"resources/read", "a:1", "resources/list_changed", `{}`, true},
	} {
		for _, first := range []string{"message", "answer"} {
			bubble(t, fmt.Sprint(test.method, " ", test.notification, " ", test.params,
				", first the ", first), func(t *testing.T) {
				asked := 0
				c := connect(t, Options{}, func(s *scripted) {
					all(s)
					for m := s.read(); m.line != ""; m = s.read() {
						asked++
						say := []func(){
							func() { s.notify("notifications/"+test.notification, test.params) },
							func() { s.reply(m, hinted(60_000, "public", `"contents":[]`)) },
						}
						if asked > 1 {
							say[1]()
							continue
						}
						if first == "answer" {
							say[0], say[1] = say[1], say[0]
						}
						say[0]()
						say[1]()
					}
				})
				for range 2 {
					// The callback delays the result until the notification has arrived too.
					_, err := c.Call(t.Context(), test.method, map[string]string{"uri": test.uri},
						OnProgress(func(mcp.ProgressParams) {}))
					assert.NilError(t, err)
					synctest.Wait()
				}
				assert.Equal(t, asked == 1, test.kept)
			})
		}
	}
}

// A change notification to one client invalidates the entries of all clients that share the cache,
// including those of other principals and of legacy connections.
func TestCacheNotifiedElsewhere(t *testing.T) {
	for name, handshake := range map[string]func(*scripted){"modern": all,
		"legacy": (*scripted).legacy} {
		bubble(t, name, func(t *testing.T) {
			cache := NewCache(1 << 20)
			c, src := answer(t, Options{Cache: cache, Principal: "ada"}, all,
				stock(60_000, "private"))
			_, other := answer(t, Options{Cache: cache, Principal: "eve"}, handshake,
				stock(60_000, "private"))
			again := stocked(t, c, src)
			other.notify("notifications/tools/list_changed", `{}`)
			other.notify("notifications/resources/updated", `{"uri":"a:2"}`)
			synctest.Wait()
			assert.Equal(t, again(), "tools/list, resources/read a:2")
		})
	}
}

// Changes may have been missed while a stream was lost, so the results that it covered are removed.
func TestCacheAfterLoss(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"tools": {Options{OnToolsChanged: func([]*mcp.Tool, error) {}}, "tools/list"},
		"resources": {Options{OnResourcesChanged: func([]*mcp.Resource, error) {}},
			"resources/list, resources/templates/list"},
		"updates": {Options{OnResourceUpdated: func(string) {}},
			"resources/read a:1, resources/read a:1/x, resources/read a:1/x/y, resources/read a:1?q, resources/read a:10, resources/read a:2, resources/read b:/"},
	} {
		bubble(t, name, func(t *testing.T) {
			c, src := answer(t, test.options, all, stock(3_600_000, "private"))
			if name == "updates" {
				assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
			}
			assert.Equal(t, src.since(), "subscriptions/listen")
			again := stocked(t, c, src)
			src.reply(src.listen, `{"resultType":"complete"}`)
			assert.Equal(t, again(), "")
			time.Sleep(minRelisten)
			assert.Equal(t, src.since(), "subscriptions/listen")
			assert.Equal(t, again(), test.want)
		})
	}
}

// A client that subscribes to a resource and then reads it misses no change: it does not get the
// earlier result from the cache.
func TestCacheAfterSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, src := answer(t, Options{OnResourceUpdated: func(string) {}}, all,
			stock(3_600_000, "private"))
		again := stocked(t, c, src)
		assert.NilError(t, c.Subscribe(t.Context(), "a:2"))
		assert.Equal(t, src.since(), "subscriptions/listen")
		assert.Equal(t, again(), "resources/read a:2")
		assert.NilError(t, c.Unsubscribe(t.Context(), "a:2"))
		src.since()
		assert.Equal(t, again(), "")
	})
}

// After a change, the list is fetched from the server.
func TestCacheToolsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := make(chan string, 10)
		n := 0
		c, src := answer(t, Options{OnToolsChanged: func(tools []*mcp.Tool, err error) {
			news <- fmt.Sprint(len(tools), " ", err)
		}}, all, func(string) string {
			n++
			return hinted(3_600_000, "public", `"tools":[`+
				strings.TrimSuffix(
					strings.Repeat(`{"name":"t","inputSchema":{"type":"object"}},`, n), ",")+`]`)
		})
		list := func() string { return names(c.Tools(t.Context()), toolName) }
		for i := range 3 {
			assert.Equal(t, list(), strings.TrimSpace(strings.Repeat("t ", i+1)))
			src.notify("notifications/tools/list_changed", `{}`)
			assert.Equal(t, <-news, fmt.Sprint(i+2, " <nil>"))
		}
		assert.Equal(t, list(), "t t t t")
		assert.Equal(t, n, 4)
	})
}

// The same with a real server whose items change.
func TestCacheOfRealServer(t *testing.T) {
	eras(t, func(t *testing.T, era mcp.Era) {
		synctest.Test(t, func(t *testing.T) {
			s := server.Options{ListTTL: time.Hour}.New(server.Info{Name: "real", Version: "1"},
				dispatch.NewCatalog())
			var reads atomic.Int64
			assert.NilError(t,
				s.AddResource(server.Resource{Resource: mcp.Resource{URI: "a:1", Name: "r"},
					Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
						reads.Add(1)
						hints := mcp.CacheHints{TTLMs: new(int64(60_000)),
							CacheScope: mcp.CachePrivate}
						return &mcp.ReadResourceResult{
							Contents:   []mcp.ResourceContents{{URI: "a:1", Text: "x"}},
							CacheHints: hints}, nil
					}}))
			addTool(t, s, "t1", say("x"))
			news, updates := make(chan int, 10), make(chan string, 10)
			c := connectTo(t, s,
				Options{Era: era, OnToolsChanged: func(tools []*mcp.Tool, _ error) {
					news <- len(tools)
				}, OnResourceUpdated: func(uri string) { updates <- uri }})
			assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
			synctest.Wait()
			for round := range 3 {
				for range 4 {
					read(t, c, "a:1")
					assert.Equal(t, len(strings.Fields(names(c.Tools(t.Context()), toolName))),
						round+1)
				}
				if era == mcp.Modern {
					assert.Equal(t, reads.Swap(0), int64(1))
				} else {
					assert.Equal(t, reads.Swap(0), int64(4))
				}
				s.ResourceUpdated("a:1")
				assert.Equal(t, <-updates, "a:1")
				addTool(t, s, fmt.Sprint("t", round+2), say("x"))
				assert.Equal(t, <-news, round+2)
			}
		})
	})
}
