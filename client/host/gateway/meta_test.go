package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Keys of a request's _meta that the protocol does not define reach the server of the request, from
// clients that can be asked questions too. Those of the protocol are the gateway's own.
func TestMetaReachesServer(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		var mu sync.Mutex
		got := map[string]mcp.Meta{} // by method
		w.replaceUp(server.Options{Logger: quiet,
			Middleware: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
				return func(ctx context.Context, req *rpc.Request) (any, error) {
					m := mcp.Meta{}
					for key, value := range jsonscan.Members(jsonscan.Member(req.Params, "_meta")) {
						name, _ := jsonscan.Text(key)
						m[name] = append(json.RawMessage(nil), value...)
					}
					mu.Lock()
					got[req.Method] = m
					mu.Unlock()
					return next(ctx, req)
				}
			}}}.New(server.Info{Name: "up", Version: "1"}, dispatch.NewCatalog()))
		w.add("verbatim", gives(result))
		w.readable()
		w.reopen(gateway.Options{}, w.server("up", w.era))
		sent := client.Meta(mcp.Meta{"com.example/tenant": json.RawMessage(`{"a":[1.50]}`),
			"plain": json.RawMessage(`"x"`), "io.modelcontextprotocol/other": json.RawMessage(`1`),
			mcp.MetaTraceparent: json.RawMessage(
				`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`)})
		ask := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		}
		for _, o := range []client.Options{{Era: era}, {Era: era, OnElicit: ask}} {
			w.client(o, func(c *client.Client) {
				clear(got)
				ctx := t.Context()
				_, err := c.CallTool(ctx, "up__verbatim", nil, sent)
				assert.NilError(t, err)
				_, err = c.GetPrompt(ctx, "up__greet", map[string]string{"who": "x"}, sent)
				assert.NilError(t, err)
				_, err = c.ReadResource(ctx, "mem://a", sent)
				assert.NilError(t, err)
				_, err = c.Complete(ctx, mcp.CompleteReference{Type: mcp.RefPrompt,
					Name: "up__greet"}, "who", "x", nil, sent)
				assert.NilError(t, err)
			})
			for _, method := range []string{mcp.MethodCallTool, mcp.MethodGetPrompt,
				mcp.MethodReadResource, mcp.MethodComplete} {
				m := got[method]
				assert.Equal(t, string(m["com.example/tenant"]), `{"a":[1.50]}`, method)
				assert.Equal(t, string(m["plain"]), `"x"`, method)
				assert.Assert(t, m[mcp.MetaTraceparent] != nil, method)
				assert.Assert(t, m["io.modelcontextprotocol/other"] == nil, method)
				names := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool {
					return strings.HasPrefix(name, "io.modelcontextprotocol/") ||
						name == mcp.MetaProgressToken
				})
				assert.DeepEqual(t, names, []string{"com.example/tenant", "plain", "traceparent"})
			}
		}
	})
}

// The _meta counts towards the limit of the arguments.
func TestMetaIsLimited(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		s := w.server("up", mcp.Modern)
		s.MaxArguments = 100
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{}, func(c *client.Client) {
			_, err := c.CallTool(t.Context(), "up__verbatim", nil,
				client.Meta(mcp.Meta{"k": json.RawMessage(fmt.Sprintf("%q",
					strings.Repeat("x", 100)))}))
			assert.ErrorContains(t, err,
				"its arguments and _meta have 105 bytes, and maxArguments allows 100")
		})
	})
}
