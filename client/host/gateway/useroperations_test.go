package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The operation of a tool whose definition differs between users shows nobody that of another one,
// whoever has left.
func TestOperationsShowNoOtherUser(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		catalog := dispatch.NewCatalog()
		w.tenants(gateway.Options{Catalog: catalog}, map[string]*tenant{
			"ada": {tools: map[string]string{"same": "secret of ada", "equal": "of all"}},
			"bob": {tools: map[string]string{"same": "secret of bob", "equal": "of all"}},
			"cyd": {tools: map[string]string{"same": "secret of cyd"}}}, nil)
		shown := func(name string) string {
			op, ok := catalog.Lookup(name)
			assert.Assert(t, ok)
			return fmt.Sprintf("%+v", op.Spec())
		}
		for _, user := range []string{"ada", "bob", "cyd"} {
			listed(t, w.downstream.Integration().Stateless(user), "tools/list", "tools", "name")
			assert.Equal(t, strings.Contains(shown("up.same"), "secret"), user == "ada")
		}
		assert.Assert(t, cmp.Contains(shown("up.same"), `The tool "same" of the server "up".`))
		assert.Assert(t, cmp.Contains(shown("up.equal"), "of all"))
		w.gateway.Manager().EndSession("bob")
		synctest.Wait()
		assert.Assert(t, !strings.Contains(shown("up.same"), "secret"))
	})
}
