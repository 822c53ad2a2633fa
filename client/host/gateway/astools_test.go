package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A client that knows only tools lists and reads resources, and gets prompts, as the overrides have
// them; the audit log has reads and prompts.
func TestAsTools(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		assert.NilError(t, w.up.AddResource(server.Resource{
			Resource: mcp.Resource{URI: "mem://image", Name: "image"},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
					{URI: uri, MIMEType: "image/png", Blob: []byte("png")},
					{URI: uri, MIMEType: "x/y", Blob: []byte("xy")}}}, nil
			}}))
		d := &auditWriter{room: -1}
		s := w.server("up", w.era)
		s.AsTools, s.Filter = true, host.Filter{Allow: []string{"none"}}
		s.Overrides = map[string]host.Override{"prompt:greet": {Name: "hello"}, "resource:mem://a": {Name: "A"}}
		catalog := dispatch.NewCatalog()
		w.reopen(gateway.Options{Audit: d, Catalog: catalog,
			PinFile: filepath.Join(t.TempDir(), "pins")}, s)
		assert.Equal(t, len(catalog.Operations()), 0)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			names := w.names(c)
			slices.Sort(names)
			assert.DeepEqual(t, names, []string{"up__get_prompt", "up__list_prompts",
				"up__list_resources", "up__read_resource"})
			call := func(name, arguments string) string {
				raw, err := c.CallToolRaw(t.Context(), "up__"+name, json.RawMessage(arguments))
				if err != nil {
					return err.Error()
				}
				return string(raw)
			}
			got := call("list_resources", `{}`)
			for _, want := range []string{`\"uri\":\"mem://a\"`, `\"name\":\"A\"`,
				`\"resourceTemplates\":[{`, `mem://all/{x}`} {
				assert.Check(t, cmp.Contains(got, want))
			}
			assert.Check(t, cmp.Contains(call("read_resource", `{"uri":"mem://a"}`),
				`{"type":"text","text":"content of mem://a"}`))
			assert.Check(t, cmp.Contains(call("read_resource", `{"uri":"mem://all/7"}`),
				`content of mem://all/7`))
			got = call("read_resource", `{"uri":"mem://image"}`)
			assert.Check(t, cmp.Contains(got, `{"type":"image","data":"cG5n","mimeType":"image/png"}`))
			assert.Check(t, cmp.Contains(got, `"type":"resource","resource":{"uri":"mem://image"`))
			assert.Check(t, cmp.Contains(call("read_resource", `{"uri":"mem://none"}`), "mem://none"))
			assert.Check(t, cmp.Contains(call("read_resource", `{"uri":"ui://none"}`), "ui://none"))
			assert.Check(t, cmp.Contains(call("read_resource", `{}`), `"isError":true`))
			assert.Check(t, cmp.Contains(call("read_resource", `{"uri":7}`), `"isError":true`))
			assert.Check(t, cmp.Contains(call("list_prompts", `{}`), `up__hello`))
			got = call("get_prompt", `{"name":"up__hello","arguments":{"who":"Ada"}}`)
			assert.Check(t, cmp.Contains(got, "Ada"))
			assert.Check(t, !strings.Contains(got, `"isError":true`), got)
			assert.Check(t, cmp.Contains(call("get_prompt", `{"name":"up__greet"}`), `"isError":true`))
			var audited []string
			for _, line := range d.take(t) {
				var entry struct{ URI, Prompt, Tool string }
				assert.NilError(t, json.Unmarshal([]byte(line), &entry))
				audited = append(audited, entry.URI+entry.Prompt+entry.Tool)
			}
			assert.DeepEqual(t, audited,
				[]string{"mem://a", "mem://all/7", "mem://image", "mem://none", "greet"})
		})
		assert.Equal(t, len(w.gateway.Withheld()), 0)

		// They are gone with the items, and a tool of the server has precedence.
		w.up.Remove(mcp.KindPrompt, "greet")
		w.add("read_resource", reads("own"))
		time.Sleep(settle)
		s.Filter = host.Filter{}
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			names := w.names(c)
			slices.Sort(names)
			assert.DeepEqual(t, names, []string{"up__list_resources", "up__read_resource",
				"up__verbatim"})
			raw, err := c.CallToolRaw(t.Context(), "up__read_resource", nil)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(string(raw), "own"))
		})
	})
}

// A long list comes in pages, each item once, also if items change between them.
func TestAsToolsPages(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		w.readable()
		for i := range 250 {
			assert.NilError(t, w.up.Integration().AddItem(server.Item{Kind: mcp.KindResource,
				Use: empty, Definition: json.RawMessage(fmt.Sprintf(
					`{"uri":"mem://n/%03d","name":"n","description":%q}`, i, strings.Repeat("x", i)))}))
		}
		s := w.server("up", w.era)
		s.AsTools = true
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{Era: mcp.Modern}, func(c *client.Client) {
			seen, cursor, pages := map[string]int{}, "", 0
			for more := true; more; pages++ {
				arguments, err := json.Marshal(map[string]string{"cursor": cursor})
				assert.NilError(t, err)
				result, err := c.CallTool(t.Context(), "up__list_resources", json.RawMessage(arguments))
				assert.NilError(t, err)
				var page struct {
					Resources, ResourceTemplates []struct{ URI, URITemplate string }
					NextCursor                   string
				}
				text := result.Content[0].(*mcp.TextContent).Text
				assert.NilError(t, json.Unmarshal([]byte(text), &page))
				assert.Assert(t, len(page.Resources)+len(page.ResourceTemplates) <= 100)
				assert.Assert(t, len(text) < 65<<10)
				for _, r := range append(page.Resources, page.ResourceTemplates...) {
					seen[r.URI+r.URITemplate]++
				}
				cursor, more = page.NextCursor, page.NextCursor != ""
			}
			assert.Equal(t, len(seen), 252)
			assert.Assert(t, pages >= 3, "%d", pages)
			for uri, n := range seen {
				assert.Equal(t, n, 1, uri)
			}
		})
	})
}
