//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// seenAuth is the output of authclient.mjs.
type seenAuth struct {
	Said                               []string
	Type, Client                       string
	Tools, Machine                     int
	LoggedIn, SteppedUp, LoggedInAgain int
	Renewed, Rekeyed                   bool
}

// authClient runs authclient.mjs.
func (b *bench) authClient(argument map[string]any) (got seenAuth) {
	b.t.Helper()
	script, err := os.ReadFile("node/authclient.mjs")
	assert.NilError(b.t, err)
	b.write("authclient.mjs", string(script))
	what, err := json.Marshal(argument)
	assert.NilError(b.t, err)
	o := b.must("node", "authclient.mjs", string(what))
	assert.NilError(b.t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)
	return got
}

// The official clients and the binary, with an authorization server of another project.
func TestSDKClientsWithIssuer(t *testing.T) {
	for _, c := range sdkClients {
		if c.name == "v2 auto" {
			continue // it is v2 modern once it has a token
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // because they mostly wait
			b := newNodeBench(t)
			f := newFront(t)
			dpop := c.name == "v2 modern" // v1 does not support it
			i := b.issuer(map[string]any{
				// this client does not request offline_access itself
				"resources": map[string]target{f.url: {"jwt", "mcp"}}, "scopes": []string{"mcp"},
				"dpop": dpop, "lasting": c.sdk == "v1",
				"clients": []any{machine},
			})
			b.protect(f, i)
			got := b.authClient(map[string]any{
				"sdk": c.sdk, "era": c.era, "url": f.url, "issuer": i.url, "dpop": dpop,
				"machine": machineSecret,
				"calls":   []any{[]any{"fs_read", map[string]string{"path": "hello.txt"}}},
			})
			assert.Equal(t, got.Tools, 8)
			assert.Equal(t, len(got.Said), 4)
			for _, said := range got.Said {
				assert.Assert(t, strings.Contains(said, "Hello, world."), said)
			}
			assert.Equal(t, got.Type, map[bool]string{false: "Bearer", true: "DPoP"}[dpop])
			assert.Equal(t, got.LoggedIn, 1)
			assert.Assert(t, got.Renewed && got.Rekeyed, "%+v", got)
			assert.Equal(t, got.Machine, 200)
			assert.Equal(t, got.LoggedInAgain, 2)
			b.wellSaid("record")
		})
	}
}

// The official clients with opaque tokens, which at first do not have all scopes.
func TestSDKClientsStepUpWithIssuer(t *testing.T) {
	for _, c := range sdkClients {
		if c.name != "v1" && c.name != "v2 modern" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			f := newFront(t)
			i := b.issuer(map[string]any{
				"resources": map[string]target{f.url: {"opaque", "mcp grow"}},
				"clients":   []any{introspector},
				"documents": map[string]any{document: map[string]any{
					"client_id": document, "redirect_uris": []string{"http://127.0.0.1:9/callback"},
					"grant_types":    []string{"authorization_code", "refresh_token"},
					"response_types": []string{"code"}, "token_endpoint_auth_method": "none",
				}},
			})
			f.introspect(t, i)
			got := b.authClient(map[string]any{
				"sdk": c.sdk, "era": c.era, "url": f.url, "issuer": i.url, "document": document,
				"calls": []any{[]any{"add", map[string]int{"a": 1, "b": 2}},
					[]any{"grow", map[string]int{}}},
			})
			assert.Equal(t, got.Client, document)
			assert.Equal(t, got.Type, "Bearer")
			assert.Equal(t, len(got.Said), 4)
			for n, want := range []string{`"n":3`, `"n":1`, `"n":3`, `"n":3`} {
				assert.Assert(t, strings.Contains(got.Said[n], want), "%v", got.Said)
			}
			assert.Equal(t, got.LoggedIn, 1)
			assert.Equal(t, got.SteppedUp, 2)
			assert.Equal(t, got.LoggedInAgain, 3)
		})
	}
}
