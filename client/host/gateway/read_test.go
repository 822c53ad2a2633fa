package gateway_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An unlisted resource is read from a server with URIs of its scheme, and is not found if no server
// has it.
func TestUnlistedResource(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		asked := ""
		reads := func(id, known string) func(_ context.Context,
			uri string) (*mcp.ReadResourceResult, error) {
			return func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				asked += id + " "
				if uri != known {
					return nil, server.ResourceNotFound(uri)
				}
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: "of " + id}}}, nil
			}
		}
		read := func(uri, want string) {
			t.Helper()
			asked = ""
			w.client(client.Options{Era: era}, func(c *client.Client) {
				r, err := c.ReadResource(t.Context(), uri)
				if want == "" {
					assert.ErrorContains(t, err, "Resource not found")
					return
				}
				assert.NilError(t, err)
				assert.Equal(t, r.Contents[0].Text, want)
			})
		}
		w.up.Integration().SetUpstreams(server.Upstreams{Read: rawRead(reads("up", "mem://one"))})
		read("mem://one", "of up") // the only server with this scheme
		read("mem://none", "")

		other := server.Options{Logger: quiet}.New(server.Info{Name: "other", Version: "1"},
			dispatch.NewCatalog())
		other.Integration().SetUpstreams(server.Upstreams{Read: rawRead(reads("other", "mem://two"))})
		third := server.Options{Logger: quiet}.New(server.Info{Name: "third", Version: "1"},
			dispatch.NewCatalog())
		third.Integration().SetUpstreams(server.Upstreams{Read: rawRead(reads("third", "mem://three"))})
		for _, s := range []*server.Server{w.up, other} {
			assert.NilError(t,
				s.AddResource(server.Resource{
					Resource: mcp.Resource{URI: "mem://" +
						map[bool]string{true: "a", false: "b"}[s == other], Name: "x"},
					Read: reads("listed", "")}))
		}
		for id, s := range map[string]*server.Server{"other": other, "third": third} {
			later := w.server(id, era)
			later.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client,
				error) {
				return o.Connect(ctx, w.pipe(s))
			}
			assert.NilError(t, w.gateway.Add(later))
		}
		time.Sleep(5 * time.Second)
		read("mem://two", "of other")
		assert.Equal(t, asked, "up other ")
		read("mem://three", "")
		assert.Equal(t, asked, "up other ", "the third has nothing of that scheme")
		read("file:///etc/passwd", "")
		assert.Equal(t, asked, "")
	})
}

// At a downstream server with a single upstream server, unlisted resources can be read and
// subscribed to, the server may ask questions, and its errors are forwarded.
func TestUnlistedOfSingleServer(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		downstream := w.addDownstream("up")
		w.up.Integration().SetUpstreams(server.Upstreams{
			Read: rawRead(func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
				switch uri {
				case "mem://secret":
					return &mcp.ReadResourceResult{
						Contents: []mcp.ResourceContents{{URI: uri, Text: "found"}}}, nil
				case "mem://asks":
					answer, err := server.Elicit(ctx, "who",
						mcp.ElicitParams{Message: "who?",
							RequestedSchema: json.RawMessage(
								`{"type":"object","properties":{"name":{"type":"string"}}}`)})
					if err != nil {
						return nil, err
					}
					return &mcp.ReadResourceResult{
							Contents: []mcp.ResourceContents{
								{URI: uri, Text: string(answer.Content)}}},
						nil
				}
				return nil, &rpc.Error{Code: mcp.CodeResourceNotFound,
					Message: "no book of that name"}
			})})
		updates := make(chan string, 10)
		o := client.Options{Era: era, OnResourceUpdated: func(uri string) { updates <- uri },
			OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			}}
		w.clientAt(downstream, o, func(c *client.Client) {
			r, err := c.ReadResource(t.Context(), "mem://secret")
			assert.NilError(t, err)
			assert.Equal(t, r.Contents[0].Text, "found")
			if w.era == mcp.Modern { // a legacy server can ask only in calls of tools
				r, err = c.ReadResource(t.Context(), "mem://asks")
				assert.NilError(t, err)
				assert.Equal(t, r.Contents[0].Text, `{"name":"Ada"}`)
			}
			_, err = c.ReadResource(t.Context(), "mem://none")
			assert.ErrorContains(t, err, "no book of that name")

			assert.NilError(t, c.Subscribe(t.Context(), "mem://secret/part"))
			time.Sleep(5 * time.Second)
			assert.Equal(t, <-updates, "mem://secret/part", "it may have changed before")
			w.up.ResourceUpdated("mem://secret/part")
			if w.era == mcp.Modern { // a legacy server refuses an unknown resource
				assert.Equal(t, <-updates, "mem://secret/part")
			}
			assert.Assert(t, w.gateway.Remove("up"))
			_, err = c.ReadResource(t.Context(), "mem://secret")
			assert.ErrorContains(t, err, "Resource not found")
		})
	})
}

// A downstream server does not read from upstream servers that it does not offer.
func TestUnlistedOfOtherDownstream(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		asked := 0
		w.up.Integration().SetUpstreams(server.Upstreams{
			Read: rawRead(func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				asked++
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: "up"}}}, nil
			})})
		w.second("b")
		reads := func(downstream *server.Server, can bool) {
			t.Helper()
			for _, uri := range []string{"mem://secret", "mem://a"} {
				w.clientAt(downstream, client.Options{Era: era}, func(c *client.Client) {
					_, err := c.ReadResource(t.Context(), uri)
					assert.Equal(t, err == nil, can, "%s: %v", uri, err)
				})
			}
		}
		reads(w.addDownstream("b", "up"), true)
		assert.Equal(t, asked, 1)
		downstream := w.addDownstream("b")
		reads(downstream, false)
		reads(w.addDownstream("b", "none"), false)
		assert.Equal(t, asked, 1)
		w.gateway.Offer(downstream, "up")
		reads(downstream, true)
		w.gateway.Offer(downstream)
		reads(downstream, false)
		assert.Equal(t, asked, 2)
		w.gateway.Offer(downstream, "up")
		w.gateway.Close()
		reads(downstream, false)
		assert.Equal(t, asked, 2)
	})
}
