package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// addDownstream returns another server that offers these upstream servers.
func (w *fixture) addDownstream(ids ...string) *server.Server {
	s := server.Options{Logger: quiet}.New(server.Info{Name: strings.Join(ids, " "), Version: "1"},
		dispatch.NewCatalog())
	s.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt,
		mcp.KindSkill)
	w.gateway.Offer(s, ids...)
	return s
}

// clientAt calls f with a client of a downstream server.
func (w *fixture) clientAt(downstream *server.Server, o client.Options, f func(c *client.Client)) {
	w.t.Helper()
	was := w.downstream
	w.downstream = downstream
	w.client(o, f)
	w.downstream = was
}

func reads(name string) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	return func(context.Context, json.RawMessage) (json.RawMessage,
		error) {
		return text("%s", name), nil
	}
}

// second adds a server with a tool, and counts its starts.
func (w *fixture) second(id string) (up *server.Server, starts *atomic.Int64) {
	w.t.Helper()
	up, starts = server.Options{Logger: quiet}.New(server.Info{Name: id, Version: "1"},
		dispatch.NewCatalog()), new(atomic.Int64)
	up.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt,
		mcp.KindSkill)
	assert.NilError(w.t, up.Integration().AddItem(forwarded(mcp.Tool{Name: "who"}, reads(id))))
	assert.NilError(w.t,
		w.gateway.Add(gateway.Upstream{Server: host.Server{ID: id,
			Options: client.Options{Era: w.era, Logger: quiet},
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				starts.Add(1)
				return o.Connect(ctx, w.pipe(up))
			}}}))
	time.Sleep(5 * time.Second)
	return up, starts
}

// Several servers offer some of the upstream servers each, from the same processes.
func TestDownstreams(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		o := client.Options{Era: era}
		early := w.addDownstream("b", "later") // before these upstream servers are added
		b, starts := w.second("b")
		both := w.addDownstream("b", "up")
		w.clientAt(both, o, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"b__who", "up__verbatim"})
		})
		w.clientAt(w.downstream, o, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"b__who", "up__verbatim"})
		})
		changes := make(chan int, 10)
		subscribing := o
		subscribing.OnToolsChanged = func(tools []*mcp.Tool, err error) { changes <- len(tools) }
		w.clientAt(early, subscribing, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"b__who"})
			raw, err := c.CallToolRaw(t.Context(), "b__who", nil)
			assert.NilError(t, err)
			assert.Assert(t, strings.Contains(string(raw), `"b"`), string(raw))
			_, err = c.CallToolRaw(t.Context(), "up__verbatim", nil)
			assert.ErrorContains(t, err, "Unknown tool")

			w.add("more", reads("up")) // this downstream does not offer it
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(changes), 0)
			assert.NilError(t,
				b.Integration().AddItem(forwarded(mcp.Tool{Name: "more"}, reads("b"))))
			assert.Equal(t, <-changes, 2)
			w.second("later")
			assert.Equal(t, <-changes, 3)
			assert.NilError(t, w.gateway.Manager().Disable("b"))
			assert.Equal(t, <-changes, 1)
			assert.NilError(t, w.gateway.Manager().Enable("b"))
			assert.Equal(t, <-changes, 3)
			assert.Assert(t, w.gateway.Remove("later"))
			assert.Equal(t, <-changes, 2)
		})
		w.clientAt(both, o, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c),
				[]string{"b__more", "b__who", "up__more", "up__verbatim"})
		})
		assert.Equal(t, starts.Load(), int64(2),
			"one process for all, and another after it was disabled")
	})
}

// Offer replaces the upstream servers of a downstream server while clients are connected.
func TestOfferAgain(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.second("b")
		downstream := w.addDownstream("b")
		changes := make(chan int, 10)
		w.clientAt(downstream, client.Options{OnToolsChanged: func(tools []*mcp.Tool, err error) {
			changes <- len(tools)
		}}, func(c *client.Client) {
			for _, tt := range []struct {
				ids  []string
				want []string
			}{{[]string{"b", "up"}, []string{"b__who", "up__verbatim"}},
				{[]string{"up"}, []string{"up__verbatim"}}, {nil, nil},
				{[]string{"b"}, []string{"b__who"}}} {
				w.gateway.Offer(downstream, tt.ids...)
				assert.DeepEqual(t, w.names(c), tt.want) // at once
				time.Sleep(5 * time.Second)
				assert.DeepEqual(t, w.names(c), tt.want)
			}
			assert.Assert(t, len(changes) >= 3)
			w.gateway.Close()
			assert.Equal(t, len(w.names(c)), 0)
			w.gateway.Offer(downstream, "b", "up")
			assert.Equal(t, len(w.names(c)), 0)
		})
	})
}

// Offer treats the server given to New like any other, and New accepts nil.
func TestNewWithoutServer(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.gateway.Offer(w.downstream)
		w.client(client.Options{}, func(c *client.Client) { assert.Equal(t, len(w.names(c)), 0) })
		w.gateway.Close()
		w.gateway = gateway.Options{Logger: quiet}.New(nil)
		assert.NilError(t, w.gateway.Add(w.server("up", mcp.Modern)))
		w.gateway.Settle(t.Context())
		w.gateway.Offer(w.downstream, "up")
		w.client(client.Options{}, func(c *client.Client) {
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
		})
	})
}

// A name belongs to the same upstream server at all downstream servers, and to the next one after
// that is removed.
func TestDownstreamCollision(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		resource := func(text string) server.Resource {
			return server.Resource{Resource: mcp.Resource{URI: "mem://x", Name: text},
				Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{
						Contents: []mcp.ResourceContents{{URI: uri, Text: text}}}, nil
				}}
		}
		assert.NilError(t, w.up.AddResource(resource("up")))
		time.Sleep(5 * time.Second)
		b, _ := w.second("b")
		assert.NilError(t, b.AddResource(resource("b")))
		onlyB, both := w.addDownstream("b"), w.addDownstream("b", "up")
		time.Sleep(5 * time.Second)
		read := func(downstream *server.Server) (text string) {
			w.clientAt(downstream, client.Options{}, func(c *client.Client) {
				if r, err := c.ReadResource(t.Context(), "mem://x"); err == nil {
					text = r.Contents[0].Text
				}
			})
			return text
		}
		for _, downstream := range []*server.Server{w.downstream, both} {
			assert.Equal(t, read(downstream), "up")
		}
		w.clientAt(onlyB, client.Options{}, func(c *client.Client) {
			assert.Equal(t, len(w.uris(c)), 0)
		})
		assert.Equal(t, read(onlyB), "b", "it is on no list there, and nobody else's")
		assert.Assert(t, w.gateway.Remove("up"))
		time.Sleep(5 * time.Second)
		for _, downstream := range []*server.Server{w.downstream, both, onlyB} {
			assert.Equal(t, read(downstream), "b")
			w.clientAt(downstream, client.Options{}, func(c *client.Client) {
				assert.DeepEqual(t, w.uris(c), []string{"mem://x"})
			})
		}
	})
}

// uris returns the URIs of the resources that a client gets.
func (w *fixture) uris(c *client.Client) (uris []string) {
	w.t.Helper()
	for r, err := range c.Resources(w.t.Context()) {
		assert.NilError(w.t, err)
		uris = append(uris, r.URI)
	}
	return uris
}

// Subscribers at all downstream servers receive updates, and the gateway stays subscribed until the
// last of them unsubscribes.
func TestDownstreamSubscriptions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		other := w.addDownstream("up")
		w.second("b")
		without := w.addDownstream("b")
		watch := func(downstream *server.Server, f func(c *client.Client, updates chan string)) {
			updates := make(chan string, 100)
			w.clientAt(downstream, client.Options{Era: era, OnResourceUpdated: func(uri string) {
				updates <- uri
			}}, func(c *client.Client) { f(c, updates) })
		}
		watch(w.downstream, func(first *client.Client, atFirst chan string) {
			watch(other, func(second *client.Client, atSecond chan string) {
				watch(without, func(third *client.Client, atThird chan string) {
					assert.NilError(t, first.Subscribe(t.Context(), "mem://a"))
					assert.NilError(t, second.Subscribe(t.Context(), "mem://a", "mem://all/7"))
					// in no list here, because its server is not offered
					assert.NilError(t, third.Subscribe(t.Context(), "mem://a"))
					time.Sleep(5 * time.Second)
					assert.Assert(t, len(atFirst) > 0, "it may have changed before")
					for len(atFirst)+len(atSecond)+len(atThird) > 0 {
						select {
						case <-atFirst:
						case <-atSecond:
						case <-atThird:
						}
					}
					w.up.ResourceUpdated("mem://a")
					assert.Equal(t, <-atFirst, "mem://a")
					assert.Equal(t, <-atSecond, "mem://a")
					w.up.ResourceUpdated("mem://all/7")
					assert.Equal(t, <-atSecond, "mem://all/7")
					assert.NilError(t, first.Unsubscribe(t.Context(), "mem://a"))
					time.Sleep(5 * time.Second)
					w.up.ResourceUpdated("mem://a")
					assert.Equal(t, <-atSecond, "mem://a")
					time.Sleep(time.Minute)
					synctest.Wait()
					assert.Equal(t, len(atFirst)+len(atSecond)+len(atThird), 0)
					assert.Equal(t, w.state("up"), host.Ready)
					assert.NilError(t, second.Unsubscribe(t.Context(), "mem://a", "mem://all/7"))
					time.Sleep(time.Hour)
					assert.Equal(t, w.state("up"), host.Stopped)
				})
			})
		})
	})
}

func (w *fixture) state(id string) host.State {
	for _, s := range w.gateway.Manager().Status() {
		if s.ID == id {
			return s.State
		}
	}
	return ""
}

// Each client answers its own questions, whatever downstream server it is connected to.
func TestDownstreamQuestions(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.add("ask", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			answer, err := server.Elicit(ctx, "name",
				mcp.ElicitParams{Message: "name?",
					RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			return text("%s", answer.Content), nil
		})
		targets := map[string]*server.Server{"first": w.addDownstream("up"),
			"second": w.addDownstream("up", "b"), "main": w.downstream}
		time.Sleep(5 * time.Second)
		for name, downstream := range targets {
			o := client.Options{Era: era,
				OnElicit: mcptest.Answers[mcp.ElicitParams](t, &mcp.ElicitResult{
					Action: mcp.ElicitAccept, Content: []byte(`{"name":"` + name + `"}`)})}
			w.clientAt(downstream, o, func(c *client.Client) {
				result, err := c.CallTool(t.Context(), "up__ask", nil)
				assert.NilError(t, err)
				assert.Equal(t, result.Content[0].(*mcp.TextContent).Text, `{"name":"`+name+`"}`)
			})
		}
	})
}

// A server's items stay in the lists while it is down. A request waits until it restarts, or starts
// it.
func TestUseOfFailedServer(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.gateway.Close()
		w.gateway = gateway.Options{Logger: quiet}.New(w.downstream)
		s := w.server("up", w.era)
		connect, down := s.Connect, new(atomic.Bool)
		s.Connect = func(ctx context.Context, session string, o client.Options) (*client.Client,
			error) {
			if down.Load() {
				return nil, errors.New("it is down")
			}
			return connect(ctx, session, o)
		}
		assert.NilError(t, w.gateway.Add(s))
		w.gateway.Settle(t.Context())
		w.client(client.Options{Era: era}, func(c *client.Client) {
			end := func() {
				w.mu.Lock()
				live := w.upConn
				w.mu.Unlock()
				live.Close()
				synctest.Wait()
				assert.Equal(t, w.state("up"), host.Waiting)
				assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			}
			end()
			_, err := c.CallTool(t.Context(), "up__verbatim", nil) // this call waits
			assert.NilError(t, err)
			down.Store(true)
			end()
			time.Sleep(5 * time.Minute)
			assert.Equal(t, w.state("up"), host.Failed)
			assert.DeepEqual(t, w.names(c), []string{"up__verbatim"})
			_, err = c.CallTool(t.Context(), "up__verbatim", nil)
			assert.ErrorContains(t, err, "it is down")
			down.Store(false)
			time.Sleep(5 * time.Minute)
			w.add("more", reads("x"))
			_, err = c.CallTool(t.Context(), "up__verbatim", nil)
			assert.NilError(t, err)
			time.Sleep(5 * time.Second)
			assert.DeepEqual(t, w.names(c), []string{"up__more", "up__verbatim"})
			assert.NilError(t, w.gateway.Manager().Disable("up"))
			time.Sleep(5 * time.Second)
			assert.Equal(t, len(w.names(c)), 0)
		})
	})
}

// The clients of a downstream server exchange roots and logs only with the upstream servers that it
// offers.
func TestDownstreamIsolation(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		conns := make(chan *server.Conn, 1)
		defer w.up.Integration().OnClientEvent(func(c *server.Conn, e server.ClientEvent) {
			if e == server.ClientReady {
				conns <- c
			}
		})()
		up := <-conns
		other, _ := w.second("b")
		q := new(rootsServer)
		defer q.ask(other)()
		q.took(t, time.Second)
		only, both := w.addDownstream("up"), w.addDownstream("up", "b")
		var own, foreign logbook
		say := func() {
			t.Helper()
			assert.NilError(t,
				up.Log(t.Context(),
					mcp.LoggingMessageParams{Level: mcp.LevelError, Logger: "l",
						Data: json.RawMessage(`1`)}))
		}
		o := own.options(mcp.Legacy, mcp.LevelDebug)
		o.Roots = rooted("here")
		w.clientAt(only, o, func(*client.Client) {
			assert.Equal(t, q.took(t, time.Second), "[]", "it may have changed, but has not")
			say()
			assert.Equal(t, own.took(), "error up/l 1")
			o := foreign.options(mcp.Legacy, mcp.LevelDebug)
			o.Roots = rooted("there")
			w.clientAt(both, o, func(*client.Client) {
				assert.Equal(t, q.took(t, time.Second), "[there]")
				say()
				assert.Equal(t, own.took(), "error up/l 1")
				assert.Equal(t, foreign.took(), "error up/l 1")
				w.gateway.Offer(both, "b")
				assert.Equal(t, q.took(t, time.Second), "[there]")
				say()
				assert.Equal(t, own.took(), "error up/l 1")
				assert.Equal(t, foreign.took(), "")
				w.gateway.Offer(only, "b")
				assert.Equal(t, q.took(t, time.Second), "[here there]")
				w.gateway.Offer(only)
				assert.Equal(t, q.took(t, time.Second), "[there]")
				say()
				assert.Equal(t, own.took(), "")
			})
		})
	})
}
