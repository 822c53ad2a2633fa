package server_test

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Extensions are declared in both eras (SEP-2133), in the legacy era with the result of initialize.
// The messages are checked with the schemas of the revisions, if these are available.
func TestExtensionsAreDeclaredInBothEras(t *testing.T) {
	in(t, allRevisions, func(t *testing.T, revision string) {
		o := quiet
		o.Extensions = []server.Extension{{ID: "com.example/maps", Settings: map[string]int{"zoom": 7}}}
		o.Capabilities = func(c *mcp.ServerCapabilities) {
			c.Extensions["com.example/more"] = json.RawMessage(`{}`)
		}
		s := made(o)
		for range 2 { // Capabilities modifies a copy
			k := connect(t, s)
			m := k.speak(revision, `{}`)
			if k.modern() {
				m = k.request("server/discover", "")
			}
			var result struct {
				Capabilities struct{ Extensions map[string]any }
			}
			must(t, json.Unmarshal(m.Result, &result))
			assert.DeepEqual(t, result.Capabilities.Extensions,
				map[string]any{"com.example/maps": map[string]any{"zoom": 7.0},
					"com.example/more": map[string]any{}})
			assert.Equal(t, len(o.Extensions), 1)
		}
	})
}
