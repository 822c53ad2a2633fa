package gateway_test

import (
	"context"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A resource that is in no list is read where others of its kind are, and is not found where nobody has it.
func TestUnlistedResource(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *world, era mcp.Era) {
		asked := ""
		reads := func(id, known string) func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
			return func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				asked += id + " "
				if uri != known {
					return nil, server.ResourceNotFound(uri)
				}
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: "of " + id}}}, nil
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
		w.up.ReadUnlisted(reads("up", "mem://one"))
		read("mem://one", "of up") // the only one that there is
		read("mem://none", "")

		other := server.Options{Logger: quiet}.New(server.Info{Name: "other", Version: "1"}, dispatch.NewCatalog())
		other.ReadUnlisted(reads("other", "mem://two"))
		third := server.Options{Logger: quiet}.New(server.Info{Name: "third", Version: "1"}, dispatch.NewCatalog())
		third.ReadUnlisted(reads("third", "mem://three"))
		for _, s := range []*server.Server{w.up, other} {
			assert.NilError(t, s.AddResource(server.Resource{Resource: mcp.Resource{URI: "mem://" + map[bool]string{true: "a", false: "b"}[s == other], Name: "x"}, Read: reads("listed", "")}))
		}
		for id, s := range map[string]*server.Server{"other": other, "third": third} {
			behind := w.server(id, era)
			behind.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				return o.Connect(ctx, w.pipe(s))
			}
			assert.NilError(t, w.gateway.Add(behind))
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
