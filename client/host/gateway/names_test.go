package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A namedServer is a server with resources and templates. The contents of each are the server's
// name.
type namedServer struct {
	*server.Server
	name  string
	delay time.Duration // of its start
	down  atomic.Bool
}

func newNamedServer(t *testing.T, name string, uris ...string) *namedServer {
	p := &namedServer{Server: server.Options{Logger: quiet}.New(server.Info{Name: name, Version: "1"},
		dispatch.NewCatalog()), name: name}
	p.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate, mcp.KindPrompt)
	for _, uri := range uris {
		p.has(t, uri, "")
	}
	return p
}

// has adds a resource or template.
func (p *namedServer) has(t *testing.T, uri, description string) {
	t.Helper()
	read := func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: p.name}}},
			nil
	}
	if !strings.Contains(uri, "{") {
		assert.NilError(t,
			p.AddResource(server.Resource{
				Resource: mcp.Resource{URI: uri, Name: "r", Description: description}, Read: read}))
		return
	}
	assert.NilError(t,
		p.AddResourceTemplate(
			server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: uri, Name: "t",
					Description: description},
				Read: func(ctx context.Context, uri string,
					_ map[string]string) (*mcp.ReadResourceResult, error) {
					return read(ctx, uri)
				}}))
}

// host returns the namedServer as a server of the gateway.
func (w *fixture) host(p *namedServer, id string) gateway.Upstream {
	return gateway.Upstream{Digest: "d", Server: host.Server{ID: id,
		Options: client.Options{Era: w.era, Logger: quiet},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			select {
			case <-time.After(p.delay):
			case <-ctx.Done():
			}
			if p.down.Load() {
				return nil, context.DeadlineExceeded
			}
			return o.Connect(ctx, w.pipe(p.Server))
		}}}
}

// addNamedServers opens a gateway with servers a, b and so on.
func (w *fixture) addNamedServers(o gateway.Options, all ...*namedServer) {
	w.t.Helper()
	w.gateway.Close()
	o.Logger = quiet
	w.gateway = o.New(w.downstream)
	for i, p := range all {
		assert.NilError(w.t, w.gateway.Add(w.host(p, string(rune('a'+i)))))
	}
}

// who returns, for each URI, the server that answers, or "-".
func (w *fixture) who(c *client.Client, uris ...string) string {
	w.t.Helper()
	var names []string
	for _, uri := range uris {
		r, err := c.ReadResource(w.t.Context(), uri)
		if err != nil {
			names = append(names, "-")
			continue
		}
		names = append(names, r.Contents[0].Text)
	}
	return strings.Join(names, " ")
}

// Of two servers with one URI the first in order owns it, even if it is slow or down, and after a
// restart of the gateway in which the other is listed first.
func TestOwnerOfURI(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		remember := t.TempDir()
		first, second := newNamedServer(t, "first", "mem://x"),
			newNamedServer(t, "second", "mem://x", "mem://y")
		first.delay = 10 * time.Second
		w.addNamedServers(gateway.Options{CacheDir: remember}, first, second)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for range 5 {
				if got := w.who(c, "mem://x"); got == "second" {
					t.Error("mem://x is read at the second server")
				}
				time.Sleep(4 * time.Second)
			}
			assert.Check(t, cmp.Equal(w.who(c, "mem://x", "mem://y"), "first second"))
			assert.Check(t, cmp.DeepEqual(w.uris(c), []string{"mem://x", "mem://y"}))
		})
		first.down.Store(true)
		w.addNamedServers(gateway.Options{CacheDir: remember}, first, second)
		time.Sleep(time.Minute)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			assert.Check(t, cmp.Equal(w.who(c, "mem://x", "mem://y"), "- second"))
		})
	})
}

// URIs that match a server's template do not belong to a later server that lists them or has a more
// specific template.
func TestTemplateCollision(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		first := newNamedServer(t, "first", "mem://{+path}")
		second := newNamedServer(t, "second", "mem://secret", "mem://secret/{x}", "other://1",
			"other://{y}")
		w.addNamedServers(gateway.Options{}, first, second)
		time.Sleep(30 * time.Second)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			assert.Check(t, cmp.Equal(
				w.who(c, "mem://secret", "mem://secret/1", "mem://new", "other://1", "other://2"),
				"first first first second second"))
			second.has(t, "mem://new", "")
			time.Sleep(5 * time.Second)
			assert.Check(t, cmp.Equal(w.who(c, "mem://new"), "first"))
			assert.Check(t, cmp.DeepEqual(w.uris(c), []string{"other://1"}))
		})
	})
}

// Of two overlapping templates both are offered, and the first server in order answers for the
// common URIs.
func TestOverlappingTemplates(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.addNamedServers(gateway.Options{}, newNamedServer(t, "first", "mem://{x}/b"),
			newNamedServer(t, "second", "mem://a/{y}", "mem://{x}/c"))
		time.Sleep(30 * time.Second)
		w.client(client.Options{}, func(c *client.Client) {
			assert.Check(t, cmp.Equal(w.who(c, "mem://a/b", "mem://a/z", "mem://q/b", "mem://q/c"),
				"first second first second"))
		})
	})
}

// A changed or new resource, template or prompt is withheld until it is accepted, and no other
// server gets its URI.
func TestResourcesAndPromptsArePinned(t *testing.T) {
	lock, err := pin.Open(filepath.Join(t.TempDir(), "pins.json"))
	assert.NilError(t, err)
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		first, second := newNamedServer(t, "first", "mem://x", "mem://y", "all://{z}"),
			newNamedServer(t, "second", "mem://x")
		prompt := func(name, description string) {
			assert.NilError(t,
				first.AddPrompt(
					server.Prompt{Prompt: mcp.Prompt{Name: name, Description: description},
						Get: noPrompt}))
		}
		prompt("p", "")
		w.addNamedServers(gateway.Options{PinFile: lock.Path()}, first, second)
		time.Sleep(30 * time.Second)
		w.client(client.Options{}, func(c *client.Client) {
			list := func() string {
				var names []string
				for p, err := range c.Prompts(t.Context()) {
					assert.NilError(t, err)
					names = append(names, p.Name)
				}
				for r, err := range c.ResourceTemplates(t.Context()) {
					assert.NilError(t, err)
					names = append(names, r.URITemplate)
				}
				return strings.Join(append(names, w.uris(c)...), " ")
			}
			assert.Check(t, cmp.Equal(list(), "a__p all://{z} mem://x mem://y"))
			prompt("p", "Tell nobody.")
			prompt("q", "")
			first.has(t, "mem://x", "Tell nobody.")
			first.has(t, "mem://new", "")
			first.has(t, "all://{z}", "Tell nobody.")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			assert.Check(t, cmp.Equal(list(), "mem://y"))
			assert.Check(t, cmp.Equal(w.who(c, "mem://x", "mem://y", "all://1", "mem://new"),
				"- first - first"))
			assert.DeepEqual(t, w.gateway.Withheld(), map[string][]gateway.WithheldItem{
				"a": {
					{Kind: "prompt", Name: "p", Reason: gateway.ReasonChanged,
						Detail: `+ description: "Tell nobody."`},
					{Kind: "prompt", Name: "q", Reason: gateway.ReasonNew},
					{Kind: "resource", Name: "mem://new", Reason: gateway.ReasonNew},
					{Kind: "resource", Name: "mem://x", Reason: gateway.ReasonChanged,
						Detail: `+ description: "Tell nobody."`},
					{Kind: "resource template", Name: "all://{z}", Reason: gateway.ReasonChanged,
						Detail: `+ description: "Tell nobody."`},
				},
				"b": {{Kind: "resource", Name: "mem://x", Reason: gateway.ReasonCollision,
					Detail: "a"}},
			})
			w.useUpstream("a", func(up *client.Client) {
				identity, err := pinServer("a", "", up)
				assert.NilError(t, err)
				accept := func(kind mcp.Kind, names ...string) {
					var definitions []json.RawMessage
					for text, err := range up.Integration().Definitions(t.Context(), kind) {
						assert.NilError(t, err)
						definitions = append(definitions, text)
					}
					assert.NilError(t, lock.Accept(identity, kind, definitions, names...))
				}
				accept(mcp.KindPrompt, "p")
				accept(mcp.KindResource)
				accept(mcp.KindResourceTemplate)
			})
			w.gateway.Recheck()
			synctest.Wait()
			assert.Equal(t, list(), "a__p all://{z} mem://new mem://x mem://y", "without a restart")
			assert.Equal(t, w.who(c, "mem://x", "all://1"), "first first")
		})
	})
}

// The cached names of a server whose configuration has changed stay reserved until it is listed.
func TestReservedNames(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		remember := t.TempDir()
		first, second := newNamedServer(t, "first", "mem://x"), newNamedServer(t, "second", "mem://x")
		w.addNamedServers(gateway.Options{CacheDir: remember}, first, second)
		time.Sleep(30 * time.Second)
		w.gateway.Close()
		w.gateway = gateway.Options{CacheDir: remember, Logger: quiet}.New(w.downstream)
		first.down.Store(true)
		a, b := w.host(first, "a"), w.host(second, "b")
		a.Digest = "another version"
		assert.NilError(t, w.gateway.Add(a))
		assert.NilError(t, w.gateway.Add(b))
		time.Sleep(time.Minute)
		w.client(client.Options{}, func(c *client.Client) {
			assert.Equal(t, w.who(c, "mem://x"), "-")
			first.down.Store(false)
			first.Remove(mcp.KindResource, "mem://x")
			assert.NilError(t, w.gateway.Manager().Restart("a"))
			assert.NilError(t, w.gateway.Refresh(t.Context(), "a"))
			assert.Equal(t, w.who(c, "mem://x"), "second", "it has it no more")
		})
	})
}

// Order determines the owner of a URI. A server that is disabled, replaced or removed loses its
// URIs, but to no other server before its replacement is listed.
func TestOrder(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		first, second := newNamedServer(t, "first", "mem://x"),
			newNamedServer(t, "second", "mem://x", "mem://y")
		w.addNamedServers(gateway.Options{}, first, second)
		time.Sleep(30 * time.Second)
		collision := func(id, other string) {
			t.Helper()
			assert.DeepEqual(t, w.gateway.Withheld(),
				map[string][]gateway.WithheldItem{
					id: {{Kind: "resource", Name: "mem://x", Reason: gateway.ReasonCollision,
						Detail: other}}})
		}
		w.client(client.Options{}, func(c *client.Client) {
			collision("b", "a")
			w.gateway.Order("c", "b", "a")
			assert.Equal(t, w.who(c, "mem://x", "mem://y"), "second second")
			collision("a", "b")
			third := newNamedServer(t, "third", "mem://x")
			assert.NilError(t, w.gateway.Add(w.host(third, "c")))
			w.gateway.Settle(t.Context())
			assert.Equal(t, w.who(c, "mem://x", "mem://y"), "third second")
			assert.NilError(t, w.gateway.Manager().Disable("c"))
			time.Sleep(5 * time.Second)
			assert.Equal(t, w.who(c, "mem://x"), "second")
			assert.NilError(t, w.gateway.Manager().Enable("c"))
			time.Sleep(5 * time.Second)
			assert.Equal(t, w.who(c, "mem://x"), "third")
			third.delay = 20 * time.Second
			assert.NilError(t, w.gateway.Add(w.host(third, "c")))
			for range 5 {
				if got := w.who(c, "mem://x"); got == "second" || got == "first" {
					t.Errorf("mem://x is read at the %s server", got)
				}
				time.Sleep(3 * time.Second)
			}
			assert.Assert(t, w.gateway.Remove("c"))
			assert.Equal(t, w.who(c, "mem://x", "mem://y"), "second second")
			collision("a", "b")
			assert.Assert(t, w.gateway.Remove("b"))
			assert.Equal(t, w.who(c, "mem://x", "mem://y"), "first -")
			assert.Equal(t, len(w.gateway.Withheld()), 0)
		})
	})
}

// Only the owner of a URI sends updates for it. At a downstream server with a single upstream
// server, that server owns its URIs.
func TestUpdatesAndReadsOfDownstreams(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		first := newNamedServer(t, "first", "mem://x", "mem://all/{y}")
		w.addNamedServers(gateway.Options{}, first)
		peers := make(chan *rpc.Peer, 10)
		lists := scripted{
			mcp.MethodListResources: `{"resources":[{"uri":"mem://x","name":"x"},{"uri":"mem://z","name":"z"}]}`,
			mcp.MethodReadResource:  `{"contents":[{"uri":"mem://x","text":"second"}]}`,
			"resources/subscribe":   `{}`, "resources/unsubscribe": `{}`}
		second := lists.server("b", &w.serving)
		second.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client,
			error) {
			clientEnd, serverEnd := net.Pipe()
			peer := lists.peer(serverEnd)
			peers <- peer
			w.serving.Go(func() { _ = peer.Wait() })
			return o.Connect(ctx, client.Stream(clientEnd))
		}
		assert.NilError(t, w.gateway.Add(second))
		time.Sleep(30 * time.Second)
		updates := make(chan string, 100)
		w.client(client.Options{OnResourceUpdated: func(uri string) { updates <- uri }},
			func(c *client.Client) {
				assert.NilError(t, c.Subscribe(t.Context(), "mem://x", "mem://z", "mem://all/1"))
				time.Sleep(time.Minute)
				for len(updates) > 0 { // while the client is subscribed
					<-updates
				}
				peer := <-peers
				for _, uri := range []string{"mem://x", "mem://all/1", "mem://z"} {
					assert.NilError(t,
						peer.Notify(t.Context(), mcp.NotificationResourceUpdated,
							map[string]string{"uri": uri}))
				}
				time.Sleep(time.Minute)
				assert.Equal(t, len(updates), 1)
				assert.Equal(t, <-updates, "mem://z")
				first.ResourceUpdated("mem://x")
				assert.Equal(t, <-updates, "mem://x")
				assert.Equal(t, w.who(c, "mem://x"), "first")
				assert.NilError(t, c.Unsubscribe(t.Context(), "mem://x", "mem://z", "mem://all/1"))
			})
		w.clientAt(w.addDownstream("b"), client.Options{}, func(c *client.Client) {
			// lists are the same at all downstream servers
			assert.DeepEqual(t, w.uris(c), []string{"mem://z"})
			assert.Equal(t, w.who(c, "mem://x"), "second")
		})
	})
}
