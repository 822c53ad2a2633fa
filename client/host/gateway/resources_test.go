package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// readable adds a resource, a template and a prompt to the server "up".
func (w *fixture) readable() {
	w.t.Helper()
	read := func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{{URI: uri, Text: "content of " + uri}}}, nil
	}
	suggest := func(_ context.Context, argument, typed string,
		settled map[string]string) (mcp.Completion, error) {
		return mcp.Completion{Values: []string{argument + "=" + typed + settled["other"]}}, nil
	}
	assert.NilError(w.t,
		w.up.AddResource(
			server.Resource{Resource: mcp.Resource{URI: "mem://a", Name: "a"}, Read: read}))
	assert.NilError(w.t,
		w.up.AddResourceTemplate(
			server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: "mem://all/{x}", Name: "all"},
				Read: func(ctx context.Context, uri string,
					_ map[string]string) (*mcp.ReadResourceResult, error) {
					return read(ctx, uri)
				}, Complete: suggest}))
	assert.NilError(w.t, w.up.AddPrompt(server.Prompt{
		Prompt: mcp.Prompt{Name: "greet", Description: "Greets.",
			Arguments: []mcp.PromptArgument{{Name: "who", Required: true}}},
		Get: func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{
				Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser,
						Content: &mcp.TextContent{Text: "Hello " + arguments["who"]}}}}, nil
		}, Complete: suggest}))
	time.Sleep(5 * time.Second)
}

func TestResourcesAndPrompts(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		w.client(client.Options{Era: era}, func(c *client.Client) {
			var found []string
			for r, err := range c.Resources(t.Context()) {
				assert.NilError(t, err)
				found = append(found, r.URI)
			}
			for r, err := range c.ResourceTemplates(t.Context()) {
				assert.NilError(t, err)
				found = append(found, r.URITemplate)
			}
			for p, err := range c.Prompts(t.Context()) {
				assert.NilError(t, err)
				found = append(found, p.Name+" "+p.Description)
			}
			assert.Equal(t, strings.Join(found, ", "),
				"mem://a, mem://all/{x}, up__greet [up] Greets.")
			for _, uri := range []string{"mem://a", "mem://all/7"} {
				r, err := c.ReadResource(t.Context(), uri)
				assert.NilError(t, err)
				assert.Equal(t, r.Contents[0].Text, "content of "+uri)
			}
			p, err := c.GetPrompt(t.Context(), "up__greet", map[string]string{"who": "Ada"})
			assert.NilError(t, err)
			assert.Equal(t, p.Messages[0].Content.(*mcp.TextContent).Text, "Hello Ada")
			for _, ref := range []mcp.CompleteReference{{Type: mcp.RefPrompt, Name: "up__greet"},
				{Type: mcp.RefResource, URI: "mem://all/{x}"}} {
				argument := map[string]string{mcp.RefPrompt: "who", mcp.RefResource: "x"}[ref.Type]
				completion, err := c.Complete(t.Context(), ref, argument, "A",
					map[string]string{"other": "!"})
				assert.NilError(t, err)
				assert.DeepEqual(t, completion.Values, []string{argument + "=A!"})
			}
			_, err = c.ReadResource(t.Context(), "mem://none")
			assert.Assert(t, err != nil)
			assert.NilError(t, w.gateway.Manager().Disable("up"))
			time.Sleep(time.Second)
			_, err = c.ReadResource(t.Context(), "mem://a")
			assert.Assert(t, err != nil)
		})
	})
}

// Subscribers receive updates after a restart of the server, too, and a subscription keeps the
// server from being stopped.
func TestResourceUpdates(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		updates := make(chan string, 100)
		w.client(client.Options{Era: era, OnResourceUpdated: func(uri string) { updates <- uri }},
			func(c *client.Client) {
				assert.NilError(t, c.Subscribe(t.Context(), "mem://a", "mem://all/7"))
				for range 2 {
					got := map[string]bool{<-updates: true, <-updates: true}
					assert.Equal(t, len(got), 2,
						"it may have changed before the server was subscribed to")
					time.Sleep(5 * time.Second)
					for len(updates) > 0 { // a restart may report an update twice
						<-updates
					}
					for _, uri := range []string{"mem://a", "mem://all/7", "mem://b",
						"mem://all/8"} {
						w.up.ResourceUpdated(uri)
					}
					got = map[string]bool{<-updates: true, <-updates: true}
					assert.DeepEqual(t, got, map[string]bool{"mem://a": true, "mem://all/7": true})
					time.Sleep(time.Hour)
					assert.Equal(t, len(updates), 0)
					assert.Equal(t, w.gateway.Manager().Status()[0].State, host.Ready,
						"it is in use")

					w.mu.Lock()
					live := w.upConn
					w.mu.Unlock()
					live.Close()
				}
				time.Sleep(10 * time.Second)
				assert.NilError(t, c.Unsubscribe(t.Context(), "mem://a", "mem://all/7"))
				time.Sleep(time.Minute)
				for len(updates) > 0 {
					<-updates
				}
				w.up.ResourceUpdated("mem://a")
				time.Sleep(time.Hour)
				assert.Equal(t, len(updates), 0)
				assert.Equal(t, w.gateway.Manager().Status()[0].State, host.Stopped)
			})
	})
}

// A modern server gets all subscriptions with each request, so there are few requests, and a URI
// that it refuses does not stop the others.
func TestManySubscriptionsAreFewRequests(t *testing.T) {
	for _, refused := range []bool{false, true} {
		withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
			w.readable()
			var listens, subscribed atomic.Int32
			many := w.server("many", mcp.Modern)
			many.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client,
				error) {
				clientEnd, serverEnd := net.Pipe()
				peer := manySubscriptions(serverEnd, refused, &listens, &subscribed)
				w.serving.Go(func() { _ = peer.Wait() })
				return o.Connect(ctx, client.Stream(clientEnd))
			}
			assert.NilError(t, w.gateway.Add(many))
			time.Sleep(time.Minute)
			var uris []string
			for i := range 100 {
				uris = append(uris, fmt.Sprint("many://", i))
			}
			w.client(client.Options{OnResourceUpdated: func(string) {}}, func(c *client.Client) {
				listens.Store(0)
				assert.NilError(t, c.Subscribe(t.Context(), uris...))
				time.Sleep(time.Minute)
				want := 100
				if refused {
					want--
				}
				assert.Equal(t, int(subscribed.Load()), want)
				assert.Assert(t, listens.Load() < 10, "%d", listens.Load())
				assert.NilError(t, c.Unsubscribe(t.Context(), uris[1:]...))
			})
		})
	}
}

// manySubscriptions returns a modern server whose template matches many://…, which counts
// subscriptions/listen and the URIs in the last one that it has acknowledged as a whole. It may
// refuse many://50.
func manySubscriptions(stream io.ReadWriteCloser, refuses bool,
	listens, subscribed *atomic.Int32) *rpc.Peer {
	return rpc.Options{Handler: func(ctx context.Context, r *rpc.Request) (any, error) {
		switch r.Method {
		case mcp.MethodDiscover:
			return json.RawMessage(
					`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{"subscribe":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"many","version":"1"}}}`),
				nil
		case mcp.MethodListResources:
			return json.RawMessage(
				`{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"private"}`), nil
		case mcp.MethodListResourceTemplates:
			return json.RawMessage(
					`{"resultType":"complete","resourceTemplates":[{"uriTemplate":"many://{x}","name":"many"}],"ttlMs":0,"cacheScope":"private"}`),
				nil
		case mcp.MethodListen:
			listens.Add(1)
			var params mcp.ListenParams
			if err := json.Unmarshal(r.Params, &params); err != nil {
				return nil, err
			}
			wanted := params.Notifications.ResourceSubscriptions
			agreed := slices.DeleteFunc(slices.Clone(wanted),
				func(uri string) bool { return refuses && uri == "many://50" })
			if len(agreed) == len(wanted) {
				subscribed.Store(int32(len(agreed)))
			}
			id := json.RawMessage(r.ID.String())
			err := r.Peer().Notify(ctx, mcp.NotificationSubscriptionsAcknowledged,
				map[string]any{"_meta": map[string]any{mcp.MetaSubscriptionID: id},
					"notifications": mcp.SubscriptionFilter{ResourceSubscriptions: agreed}})
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, rpc.ErrMethodNotFound
	}}.New(stream)
}
