package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
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
