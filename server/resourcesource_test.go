package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// rows is a source of n resources.
func rows(n *int, failure *error) *server.ResourceSource {
	contents := func(uri, text string) *mcp.ReadResourceResult {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: text}}}
	}
	return &server.ResourceSource{
		List: func(context.Context) (all []mcp.Resource, err error) {
			for i := range *n {
				all = append(all, mcp.Resource{URI: fmt.Sprintf("row:%d", i), Name: fmt.Sprint(i)})
			}
			return append(all, mcp.Resource{URI: "no scheme", Name: "x"},
				mcp.Resource{URI: "row:nameless"},
				mcp.Resource{URI: "added:1", Name: "hidden by the added one"}), *failure
		},
		ListTemplates: func(context.Context) ([]mcp.ResourceTemplate, error) {
			return []mcp.ResourceTemplate{{URITemplate: "row:{n}", Name: "row"},
				{URITemplate: "row:{", Name: "invalid"}}, *failure
		},
		Read: func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			if !strings.HasPrefix(uri, "row:") {
				return nil, server.ResourceNotFound(uri)
			}
			return contents(uri, fmt.Sprintf("read by %q", dispatch.PrincipalFrom(ctx))), nil
		},
	}
}

// listed returns the URIs of the resources in a client's list.
func listed(t *testing.T, c *client.Client) string {
	var uris []string
	for r, err := range c.Resources(t.Context()) {
		assert.NilError(t, err)
		uris = append(uris, r.URI+" "+r.Name)
	}
	return strings.Join(uris, ", ")
}

func TestResourceSource(t *testing.T) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			n, failure := 3, error(nil)
			o := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), PageSize: 2,
				Resources: rows(&n, &failure),
				Visible: func(_ context.Context, _ mcp.Kind, key string) bool {
					return key != "row:1"
				}}
			s := o.New(server.Info{Name: "s", Version: "1"}, nil)
			changed := make(chan struct{}, 10)
			c := mcptest.Connect(t, s, client.Options{Era: era,
				OnListChanged: func(mcp.Kind) { changed <- struct{}{} }})
			assert.Assert(t, c.Capabilities().Resources.ListChanged)
			synctest.Wait() // the client has subscribed to changes
			server.Must(s.AddResource(server.Resource{
				Resource: mcp.Resource{URI: "added:1", Name: "added"},
				Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{}}, nil
				}}))
			<-changed
			assert.Equal(t, listed(t, c), "added:1 added, row:0 0, row:2 2")
			assert.Assert(t, strings.Contains(log.String(), `key="no scheme"`), log.String())
			assert.Assert(t, strings.Contains(log.String(), "key=row:nameless"), log.String())
			n = 4
			s.ResourceListChanged()
			<-changed
			assert.Equal(t, listed(t, c), "added:1 added, row:0 0, row:2 2, row:3 3")

			var templates []string
			for r, err := range c.ResourceTemplates(t.Context()) {
				assert.NilError(t, err)
				templates = append(templates, r.URITemplate)
			}
			assert.Equal(t, fmt.Sprint(templates), "[row:{n}]")

			read, err := c.ReadResource(t.Context(), "row:77") // need not be listed
			assert.NilError(t, err)
			assert.Equal(t, read.Contents[0].Text, `read by ""`)
			_, err = c.ReadResource(t.Context(), "row:1")
			assert.ErrorContains(t, err, "not found", "it is not visible")
			_, err = c.ReadResource(t.Context(), "other:1")
			assert.ErrorContains(t, err, "not found")

			failure = errors.New("secret")
			s.ResourceListChanged()
			<-changed
			for _, err := range c.Resources(t.Context()) {
				assert.ErrorContains(t, err, "Internal error")
			}
			assert.Assert(t, strings.Contains(log.String(), "secret"))
		})
	}
}

// A list that may depend on the caller is never public.
func TestResourceSourceIsPrivate(t *testing.T) {
	n, failure := 1, error(nil)
	o := quiet
	o.Resources, o.PublicLists = rows(&n, &failure), true
	s := o.New(server.Info{Name: "s", Version: "1"}, nil)
	got := speak(t, s, newest, `{}`).request("resources/list", `{}`).raw
	assert.Assert(t, strings.Contains(got, `"cacheScope":"private"`), got)
}

func TestResourceSourceWithoutRead(t *testing.T) {
	defer func() { assert.Equal(t, recover(), "server: Options.Resources needs Read") }()
	server.Options{Resources: &server.ResourceSource{}}.New(server.Info{Name: "s", Version: "1"}, nil)
}
