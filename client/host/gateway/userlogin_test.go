package gateway_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A user without a login has only the tool to log in, for which no connection is made; a call by
// name asks him; and Relist lists the rest. A user from whom the application hides the server is
// told that there is no such tool. The HTTP API says what to do.
func TestLogin(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		var loggedIn atomic.Bool
		var mu sync.Mutex
		var asked []string
		catalog := dispatch.NewCatalog()
		made := w.perUser(gateway.Options{Catalog: catalog}, func(s *gateway.Upstream) {
			s.Login = func(context.Context) func(context.Context, mcp.Kind, string) (
				json.RawMessage, error) {
				if loggedIn.Load() {
					return nil
				}
				return func(_ context.Context, kind mcp.Kind, name string) (json.RawMessage,
					error) {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, string(kind)+" "+name)
					if name == "hidden" {
						return nil, dispatch.NotFound
					}
					return json.RawMessage(
						`{"isError":true,"content":[{"type":"text","text":"open it"}]}`), nil
				}
			}
		})
		ada := w.as("ada")
		list := func() string {
			got, err := request(t, ada, "tools/list", "")
			assert.NilError(t, err)
			return string(got)
		}
		assert.Check(t, cmp.Contains(list(), `"name":"up__login"`))
		assert.Check(t, cmp.Len(asked, 0))
		for _, name := range []string{"up__login", "up__verbatim", "up__hidden"} {
			got, err := call(t, ada, name, "")
			if name == "up__hidden" {
				assert.Check(t, cmp.ErrorContains(err, "Unknown tool: up__hidden"))
				continue
			}
			assert.NilError(t, err)
			assert.Check(t, cmp.Contains(string(got), "open it"))
		}
		assert.DeepEqual(t, asked, []string{"tool login", "tool verbatim", "tool hidden"})
		d := dispatch.Options{Logger: quiet,
			Missing: w.gateway.AwaitOperation}.New(catalog)
		e := d.Dispatch(context.WithValue(t.Context(), contextkey.Principal{}, "ada"),
			&dispatch.Call{Operation: "up.verbatim", Arguments: []byte(`{}`)})
		if assert.Check(t, e.Err != nil) {
			assert.Check(t, cmp.Equal(e.Err.Code, dispatch.StateError))
			assert.Check(t, cmp.Contains(e.Err.Error(), "open it"))
		}
		assert.Equal(t, made.startsOf("ada"), 0)

		loggedIn.Store(true)
		w.gateway.Relist("up", "ada", "ada", nil)
		assert.Check(t, cmp.Contains(list(), `"name":"up__verbatim"`))
		got, err := call(t, ada, "up__login", "")
		assert.NilError(t, err)
		assert.Check(t, cmp.Contains(string(got), "is logged in"))
		assert.Equal(t, made.startsOf("ada"), 1)
	})
}
