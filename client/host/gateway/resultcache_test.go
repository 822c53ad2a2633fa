package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// addCounting adds a tool whose results have the number of its calls, and returns that number.
func (w *fixture) addCounting(name string, a *mcp.ToolAnnotations,
	result func(n int64) json.RawMessage) *atomic.Int64 {
	w.t.Helper()
	calls := new(atomic.Int64)
	if result == nil {
		result = func(n int64) json.RawMessage { return text("%s %d", name, n) }
	}
	assert.NilError(w.t, w.up.Integration().AddItem(forwarded(
		mcp.Tool{Name: name, Annotations: a},
		func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return result(calls.Add(1)), nil
		})))
	return calls
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: new(true)}

// cached replaces the gateway by one that caches results of the server "up".
func (w *fixture) cached(o gateway.Options, public bool) {
	w.t.Helper()
	s := w.server("up", w.era)
	s.CacheResults, s.CachePublic = 10*time.Second, public
	w.reopen(o, s)
}

// Results of tools that only read are cached until another tool is called, a list changes or they
// expire. Interceptors get them, and the audit log says so.
func TestCachedResults(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		reads := w.addCounting("read", readOnly, nil)
		writes := w.addCounting("write", nil, nil)
		failures := w.addCounting("fail", readOnly, func(int64) json.RawMessage {
			return json.RawMessage(`{"resultType":"complete","isError":true,"content":[]}`)
		})
		d, intercepted := &auditWriter{room: -1}, 0
		w.cached(gateway.Options{Audit: d, Interceptors: []dispatch.Interceptor{after(
			func(*dispatch.Invocation, json.RawMessage) (json.RawMessage, error) {
				intercepted++
				return nil, nil
			})}}, false)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			call := func(tool, arguments string, made bool, calls *atomic.Int64) {
				t.Helper()
				before := calls.Load()
				_, err := c.CallToolRaw(t.Context(), "up__"+tool, json.RawMessage(arguments))
				assert.NilError(t, err)
				assert.Equal(t, calls.Load() > before, made)
				assert.Equal(t, strings.Contains(d.take(t)[0], `"cached":true`), !made)
			}
			call("read", `{"a":1,"b":2}`, true, reads)
			call("read", `{"b": 2, "a": 1}`, false, reads)
			call("read", `{"a":1}`, true, reads)
			call("read", `{"a":1}`, false, reads)
			assert.Equal(t, intercepted, 4)
			call("write", `{}`, true, writes)
			call("write", `{}`, true, writes)
			call("read", `{"a":1}`, true, reads)
			call("fail", `{}`, true, failures)
			call("fail", `{}`, true, failures)
			call("read", `{"a":1}`, false, reads)
			time.Sleep(10 * time.Second)
			call("read", `{"a":1}`, true, reads)
			call("read", `{"a":1}`, false, reads)
			w.addText("more", "x")
			time.Sleep(5 * time.Second)
			call("read", `{"a":1}`, true, reads)
			call("read", `{"a":1}`, false, reads)
			// The definition of the tool changes.
			assert.NilError(t, w.up.Integration().AddItem(forwarded(mcp.Tool{Name: "read",
				Title: "another", Annotations: readOnly},
				func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return text("%d", reads.Add(1)), nil
				})))
			time.Sleep(5 * time.Second)
			call("read", `{"a":1}`, true, reads)
		})
		// Without the option nothing is cached.
		w.reopen(gateway.Options{}, w.server("up", w.era))
		w.client(client.Options{Era: era}, func(c *client.Client) {
			before := reads.Load()
			for range 2 {
				_, err := c.CallToolRaw(t.Context(), "up__read", nil)
				assert.NilError(t, err)
			}
			assert.Equal(t, reads.Load(), before+2)
		})
	})
}

// A result is for its principal, unless results are public.
func TestCachedResultsOfPrincipals(t *testing.T) {
	for _, public := range []bool{false, true} {
		withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
			reads := w.addCounting("read", readOnly, nil)
			w.cached(gateway.Options{}, public)
			for _, principal := range []string{"ada", "bob", "ada", "bob"} {
				_, err := call(t, w.as(principal), "up__read", "")
				assert.NilError(t, err)
			}
			assert.Equal(t, reads.Load(), map[bool]int64{false: 2, true: 1}[public])
		})
	}
}

// Equal calls at the same time are made once.
func TestCachedCallsAtOnce(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		release := make(chan struct{})
		reads := w.addCounting("read", readOnly, func(n int64) json.RawMessage {
			<-release
			return text("%d", n)
		})
		w.cached(gateway.Options{}, false)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					raw, err := c.CallToolRaw(t.Context(), "up__read", nil)
					assert.Check(t, err)
					assert.Check(t, cmp.DeepEqual(textsOf(t, raw), []string{"1"}))
				})
			}
			synctest.Wait()
			close(release)
			all.Wait()
			assert.Equal(t, reads.Load(), int64(1))
		})
	})
}

// A result that depends on an answer of the user is not cached.
func TestCachedQuestions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		answered := 0
		server.AddTool(w.up, mcp.Tool{Name: "ask", Annotations: readOnly},
			func(ctx context.Context, _ struct{}) (string, error) {
				_, err := server.Elicit(ctx, "k", mcp.ElicitParams{Mode: mcp.ElicitForm,
					Message:         "Which?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
				return "answer", err
			})
		w.cached(gateway.Options{}, false)
		w.client(client.Options{Era: era, OnElicit: func(context.Context,
			mcp.ElicitParams) (*mcp.ElicitResult, error) {
			answered++
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{}`)}, nil
		}}, func(c *client.Client) {
			for range 3 {
				raw, err := c.CallToolRaw(t.Context(), "up__ask", nil)
				assert.NilError(t, err)
				assert.Assert(t, cmp.Contains(string(raw), "answer"))
			}
			assert.Equal(t, answered, 3)
		})
	})
}

// A request with _meta of the client's own is made anew: the server may answer by it.
func TestCachedResultsAndMeta(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		calls := w.addCounting("read", readOnly, nil)
		w.cached(gateway.Options{}, true)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for _, m := range []mcp.Meta{nil, nil, {"acme/tenant": json.RawMessage(`"a"`)},
				{"acme/tenant": json.RawMessage(`"b"`)},
				{mcp.MetaTraceparent: json.RawMessage(`"00-1-2-01"`)}} {
				_, err := c.CallToolRaw(t.Context(), "up__read", nil, client.Meta(m))
				assert.NilError(t, err)
			}
		})
		assert.Equal(t, calls.Load(), int64(3))
	})
}

// After a write that was given up, a result is kept again only when the server may be done with it.
func TestCachedResultsAfterDoubtfulWrite(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		reads := w.addCounting("read", readOnly, nil)
		server.AddTool(w.up, mcp.Tool{Name: "write"},
			func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
		w.cached(gateway.Options{}, false)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.CallToolRaw(ctx, "up__write", nil)
			assert.Assert(t, err != nil)
			synctest.Wait()
			for _, want := range []int64{1, 2} {
				_, err := c.CallToolRaw(t.Context(), "up__read", nil)
				assert.NilError(t, err)
				assert.Equal(t, reads.Load(), want)
			}
		})
	})
}
