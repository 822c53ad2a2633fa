//go:build unix

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	streamableclient "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A gateway answers the first call of a user with a link to its own page, whose URL is the one that
// browsers reach, and says at the start how long logins are kept.
func TestServeUserLogins(t *testing.T) {
	ownRuntime(t)
	t.Setenv("LOGINS", strings.Repeat("k", 32))
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	added := run(t, "auth", "token", "add", "ada", "--file", tokens)
	assert.Equal(t, added.code, 0, added.stderr)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "who", Summary: "Says who calls.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "nobody", nil })
	upstream := httptest.NewServer(streamable.Options{}.New(
		server.New(server.Info{Name: "up", Version: "1"}, c)))
	t.Cleanup(upstream.Close)
	servers := obj{"up": obj{"url": upstream.URL, "credentials": obj{"type": "oauth"}}}
	for _, tt := range []struct {
		flags []string
		says  string // "": nothing of logins
		base  string // "": the address
	}{
		{nil, "kept in memory", ""},
		{[]string{"--credentials-key-env", "LOGINS", "--public-url", "https://gw.example/x"}, "",
			"https://gw.example/x"},
	} {
		s := serving(t, servers, append(tt.flags, "--tokens", tokens)...)
		address := regexp.MustCompile(`http://[^ ,]+/mcp`).FindString(s.serving)
		if tt.says != "" {
			s.says(tt.says)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		one, err := client.Options{Era: mcp.Modern}.Connect(ctx, streamableclient.Options{
			Header: http.Header{"Authorization": {
				"Bearer " + strings.TrimSpace(added.stdout)}}}.Dial(address))
		assert.NilError(t, err)
		result, err := one.CallTool(ctx, "up__who", nil)
		assert.NilError(t, err)
		assert.Check(t, result.IsError)
		text := result.Content[0].(*mcp.TextContent).Text
		assert.NilError(t, one.Close())
		local := strings.TrimSuffix(address, "/mcp")
		base := tt.base
		if base == "" {
			base = local
		}
		link := regexp.MustCompile(regexp.QuoteMeta(base) + `/oauth/start/\w+`).FindString(text)
		assert.Assert(t, link != "", text)
		for host, want := range map[string]string{"": "<td>token#ada</td>",
			"evil.example": "host is not allowed"} {
			r, err := http.NewRequest(http.MethodGet, local+strings.TrimPrefix(link, base), nil)
			assert.NilError(t, err)
			r.Host = host
			resp, err := http.DefaultClient.Do(r)
			assert.NilError(t, err)
			page, err := io.ReadAll(resp.Body)
			assert.NilError(t, err)
			assert.NilError(t, resp.Body.Close())
			assert.Check(t, cmp.Contains(string(page), want))
		}
	}
	got := run(t, "serve", "--servers", "--http", "127.0.0.1:0", "--credentials-key-env", "NONE")
	assert.Equal(t, got.code, 2)
	assert.Check(t, cmp.Contains(got.stderr, "NONE has fewer than 32 bytes"))
	got = run(t, "serve", "--servers", "--http", "127.0.0.1:0", "--public-url", "http://gw.example")
	assert.Equal(t, got.code, 2)
	assert.Check(t, cmp.Contains(got.stderr, "want an https: URL"))
}
