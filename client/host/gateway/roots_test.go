package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// uris returns the URIs of roots, without file:///.
func uris(roots []mcp.Root) string {
	var all []string
	for _, root := range roots {
		all = append(all, strings.TrimPrefix(root.URI, "file:///"))
	}
	return strings.Join(all, " ")
}

func rooted(names ...string) []mcp.Root {
	roots := []mcp.Root{}
	for _, name := range names {
		roots = append(roots, mcp.Root{URI: "file:///" + name})
	}
	return roots
}

// A roots/list request within a call goes to the client of the call. For a client without roots the
// answer is an empty list.
func TestRootsWithinCall(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("roots", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			roots, err := server.Roots(ctx, "roots")
			if err != nil {
				return nil, err
			}
			return text("%s", uris(roots)), nil
		})
		w.add("both", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			roots, err := server.Roots(ctx, "roots")
			answer, asked := server.Elicit(ctx, "form",
				mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"a":{"type":"string"}}}`)})
			if err != nil || asked != nil {
				if err == nil {
					err = asked
				}
				return nil, err
			}
			return text("%s %s", uris(roots), answer.Content), nil
		})
		time.Sleep(5 * time.Second)
		o := client.Options{Era: era,
			OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"a":"b"}`)},
					nil
			}}
		for _, tt := range []struct {
			roots       []mcp.Root
			alone, both string
		}{
			{rooted("a", "b"), "a b", `a b {"a":"b"}`},
			{rooted(), "", ` {"a":"b"}`},
			{nil, "", ` {"a":"b"}`},
		} {
			o.Roots = tt.roots
			w.client(o, func(c *client.Client) {
				result, err := c.CallTool(t.Context(), "up__roots", nil)
				assert.NilError(t, err)
				assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, tt.alone)
				result, err = c.CallTool(t.Context(), "up__both", nil)
				assert.NilError(t, err)
				assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, tt.both)
			})
		}
		o.Roots, o.OnRoots = nil, func(context.Context) ([]mcp.Root, error) {
			return nil, rpc.Errorf(-1, "not now")
		}
		w.client(o, func(c *client.Client) {
			result, err := c.CallTool(t.Context(), "up__roots", nil)
			if era == mcp.Legacy && w.era == mcp.Legacy {
				assert.NilError(t, err)
				assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, "")
			} else {
				assert.ErrorContains(t, err, "not now")
			}
		})
	})
}

// A client that does not return its roots delays its call by at most 5 s if the server does not
// need them.
func TestRootsTimeout(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		w.add("roots", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			roots, err := server.Roots(ctx, "roots")
			return text("%q %v", uris(roots), err), nil
		})
		time.Sleep(5 * time.Second)
		o := client.Options{Era: mcp.Legacy,
			OnRoots: func(ctx context.Context) ([]mcp.Root, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		w.client(o, func(c *client.Client) {
			began := time.Now()
			result, err := c.CallTool(t.Context(), "up__roots", nil)
			assert.NilError(t, err)
			assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, `"" <nil>`)
			assert.Equal(t, time.Since(began), 5*time.Second)
		})
	})
}

// DeclareCapabilities declares the capabilities that a gateway declares.
func TestDeclareCapabilities(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		var o client.Options
		gateway.DeclareCapabilities(&o)
		defer w.up.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			assert.DeepEqual(t, c.Capabilities(), o.Capabilities())
		})()
		assert.Assert(t, o.Capabilities().Roots.ListChanged)
	})
}

// A modern server that asks for roots in every round gets an error.
func TestRepeatedRootsRequests(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		asked := 0
		w.add("roots", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			asked++
			return nil, server.RequireInput(ctx,
				mcp.InputRequests{"r": {Method: mcp.MethodListRoots}}, fmt.Sprint(asked))
		})
		time.Sleep(5 * time.Second)
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "up__roots", nil)
			assert.ErrorContains(t, err, "asked 10 times for the roots of a client without roots")
			assert.Equal(t, asked, 10)
		})
	})
}

// A rootsServer is a server that asks its clients for roots outside of calls: when they connect,
// and when they report a change.
type rootsServer struct {
	mu      sync.Mutex
	answers []string
	errs    []error
}

func (q *rootsServer) ask(s *server.Server) (stop func()) {
	return s.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
		if e != server.ClientReady && e != server.ClientRoots {
			return
		}
		go func() {
			roots, err := c.Roots(context.Background())
			q.mu.Lock()
			defer q.mu.Unlock()
			q.answers, q.errs = append(q.answers, "["+uris(roots)+"]"), append(q.errs, err)
		}()
	})
}

// took waits, and returns the answers since its last call.
func (q *rootsServer) took(t *testing.T, wait time.Duration) string {
	t.Helper()
	time.Sleep(wait)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, err := range q.errs {
		assert.NilError(t, err)
	}
	defer func() { q.answers, q.errs = nil, nil }()
	return strings.Join(q.answers, " ")
}

// A legacy server that asks outside of calls gets the roots of all connected clients, and is
// notified of changes. Each client is asked once.
func TestRootsOutsideOfCalls(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		q := new(rootsServer)
		defer q.ask(w.up)()
		assert.Equal(t, q.took(t, time.Second), "[]", "nobody is there")
		assert.NilError(t, w.gateway.Manager().Restart("up"))
		w.client(client.Options{Era: mcp.Modern, Roots: rooted("modern")}, func(c *client.Client) {
			// this client cannot be asked
			_, err := c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			q.took(t, time.Second) // the server may ask during its call
			asked := 0
			roots := rooted("a", "b")
			o := client.Options{Era: mcp.Legacy,
				OnRoots: func(context.Context) ([]mcp.Root, error) {
					asked++
					return roots, nil
				}}
			w.client(o, func(a *client.Client) {
				assert.Equal(t, q.took(t, time.Second), "[a b]")
				w.client(client.Options{Era: mcp.Legacy, Roots: rooted("b", "c")},
					func(*client.Client) {
						assert.Equal(t, q.took(t, time.Second), "[a b c]")
						w.client(client.Options{Era: mcp.Legacy}, func(*client.Client) {
							assert.Equal(t, q.took(t, time.Second), "",
								"it has none, so nothing has changed")
						})
						assert.Equal(t, asked, 1)
						roots = rooted("d")
						assert.NilError(t, a.RootsChanged(t.Context()))
						assert.Equal(t, q.took(t, time.Second), "[d b c]")
						assert.Equal(t, asked, 2)
					})
				assert.Equal(t, q.took(t, time.Second), "[d]")
			})
			assert.Equal(t, q.took(t, time.Second), "[]")
			assert.Equal(t, asked, 2)
		})
	})
}

// The roots that the gateway keeps of a client are bounded, and hold its principal's memory until
// the client reports a change or disconnects.
func TestKeptRootsAreBounded(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		q := new(rootsServer)
		defer q.ask(w.up)()
		q.took(t, time.Second)
		memory := (*quota.Pool)(w.downstream.Integration().Options().Memory)
		before := memory.Used()
		roots := rooted(strings.Repeat("a", 100_000), "b")
		o := client.Options{Era: mcp.Legacy,
			OnRoots: func(context.Context) ([]mcp.Root, error) { return roots, nil }}
		w.client(o, func(c *client.Client) {
			q.took(t, time.Second)
			assert.Assert(t, memory.Used()-before > 100_000)
			roots = rooted(strings.Repeat("a", 300_000))
			assert.NilError(t, c.RootsChanged(t.Context()))
			assert.Equal(t, q.took(t, time.Second), "[]")
			assert.Equal(t, memory.Used(), before)
			roots = rooted("c", strings.Repeat("a", 100_000))
			assert.NilError(t, c.RootsChanged(t.Context()))
			q.took(t, time.Second)
			assert.Assert(t, memory.Used()-before > 100_000)
		})
		q.took(t, time.Second)
		assert.Equal(t, memory.Used(), before)
	})
}

// A client that does not answer delays a server by at most 5 s, and its late answer is reported as
// a change. A client that returns an error has no roots.
func TestRootsOfSlowClients(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		var log bytes.Buffer
		w.gateway.Close()
		o := gateway.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		w.gateway = o.New(w.downstream)
		assert.NilError(t, w.gateway.Add(w.server("up", mcp.Legacy)))
		time.Sleep(5 * time.Second)
		q := new(rootsServer)
		defer q.ask(w.up)()
		q.took(t, time.Second)
		slow := func(wait time.Duration, err error) client.Options {
			return client.Options{Era: mcp.Legacy,
				OnRoots: func(ctx context.Context) ([]mcp.Root, error) {
					select {
					case <-time.After(wait):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					return rooted(wait.String()), err
				}}
		}
		w.client(client.Options{Era: mcp.Legacy, Roots: rooted("a")}, func(*client.Client) {
			assert.Equal(t, q.took(t, time.Second), "[a]")
			w.client(slow(20*time.Second, nil), func(*client.Client) {
				assert.Equal(t, q.took(t, 4*time.Second), "")
				assert.Equal(t, q.took(t, 3*time.Second), "[a]", "it has been waited for")
				assert.Equal(t, q.took(t, 20*time.Second), "[a 20s]")
				w.client(slow(time.Hour, nil), func(*client.Client) {
					assert.Equal(t, q.took(t, 10*time.Second), "[a 20s]")
					assert.Equal(t, q.took(t, 3*time.Minute), "")
				})
				synctest.Wait()
				assert.Equal(t, strings.Count(log.String(), "a client does not return its roots"), 1)
				q.took(t, time.Second)
				w.client(slow(time.Second, rpc.Errorf(-1, "no")), func(*client.Client) {
					assert.Equal(t, q.took(t, 4*time.Second), "[a 20s]")
				})
				synctest.Wait()
				assert.Equal(t, strings.Count(log.String(), "a client does not return its roots"), 2)
			})
		})
		q.took(t, time.Second)
		synctest.Wait()
	})
}
