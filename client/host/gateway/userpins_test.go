package gateway_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A resource that is withheld from a user, or whose template is, is not read for him either: not by
// resources/read, not by a tool that reads, and not before he has listed anything.
func TestReadsOfWithheldResourcesOfUsers(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		servers := w.tenants(gateway.Options{PinFile: filepath.Join(t.TempDir(), "pins")},
			map[string]*tenant{"ada": {resources: []string{"t://x", "t://y"}},
				"bob": {resources: []string{"t://x"}}},
			func(s *gateway.Upstream) { s.AsTools = true })
		template := func(description string) {
			assert.NilError(t, servers["ada"].AddResourceTemplate(server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: "t://of/{name}", Name: "of",
					Description: description},
				Read: func(context.Context, string, map[string]string) (*mcp.ReadResourceResult,
					error) {
					return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "t://of/a",
						Text: "of ada"}}}, nil
				}}))
		}
		template("first")
		conn := func(user string) *server.Conn {
			return w.as(user)
		}
		read := func(user, uri string) (string, error) {
			return request(t, conn(user), "resources/read", `"uri":"`+uri+`"`)
		}
		for _, user := range []string{"ada", "bob"} {
			text, err := read(user, "t://x")
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(text, "of "+user))
		}
		text, err := read("ada", "t://of/a")
		assert.NilError(t, err)
		assert.Assert(t, cmp.Contains(text, "of ada"))
		time.Sleep(time.Minute)

		assert.NilError(t, servers["ada"].AddResource(server.Resource{
			Resource: mcp.Resource{URI: "t://x", Name: "t://x", Description: "second"},
			Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "t://x",
					Text: "CHANGED"}}}, nil
			}}))
		template("second")
		time.Sleep(settle)
		for range 2 {
			for _, uri := range []string{"t://x", "t://of/a"} {
				text, err := read("ada", uri)
				assert.Check(t, cmp.ErrorContains(err, "is withheld: it has changed"), text)
				text, err = request(t, conn("ada"), "tools/call",
					`"name":"up__read_resource","arguments":{"uri":"`+uri+`"}`)
				assert.Check(t, cmp.ErrorContains(err, "is withheld: it has changed"), text)
			}
			w.gateway.Manager().EndSession("ada") // his lists are not known then
			synctest.Wait()
		}
		text, err = read("ada", "t://y")
		assert.NilError(t, err)
		assert.Assert(t, cmp.Contains(text, "of ada"))
		_, err = read("bob", "t://x") // who has not changed
		assert.NilError(t, err)
	})
}

// The operator can compare a definition that is withheld from users with its pin, and accept it as
// one of them has it.
func TestReviewOfDefinitionsOfUsers(t *testing.T) {
	withFixture(t, mcp.Modern, func(t *testing.T, w *fixture) {
		shown := map[string]*tenant{"ada": {tools: map[string]string{"echo": "first"}},
			"bob": {tools: map[string]string{"echo": "first"}}}
		servers := w.tenants(gateway.Options{PinFile: filepath.Join(t.TempDir(), "pins")}, shown, nil)
		lists := func(user string) bool {
			time.Sleep(settle)
			names, _ := listed(t, w.as(user), "tools/list", "tools",
				"name")
			return strings.Contains(names, "up__echo")
		}
		for user := range shown {
			assert.Assert(t, lists(user), user)
		}
		time.Sleep(time.Minute)
		for user := range shown {
			addTool(t, servers[user], "echo", "of "+user)
		}
		for user := range shown {
			assert.Assert(t, !lists(user), user)
		}
		digest := ""
		review := func() (pinned, now string) {
			r, err := w.gateway.ReviewPin("up", mcp.KindTool, "echo")
			assert.NilError(t, err)
			digest = r.Digest
			return string(r.Pinned), string(r.Now)
		}
		accept := func(now string) error {
			return w.gateway.AcceptPin("up", mcp.KindTool, "echo",
				gateway.PinReview{Now: json.RawMessage(now), Digest: digest})
		}
		pinned, now := review()
		assert.Assert(t, cmp.Contains(pinned, "first"))
		assert.Assert(t, cmp.Contains(now, "of ada"))
		assert.ErrorContains(t, accept(pinned), "has changed again")
		assert.NilError(t, accept(strings.ReplaceAll(now, "of ada", "of bob")))
		assert.Assert(t, lists("bob"))
		assert.Assert(t, !lists("ada"))
		pinned, now = review()
		assert.Assert(t, cmp.Contains(pinned, "of bob"))
		assert.Assert(t, cmp.Contains(now, "of ada"))
		w.gateway.Manager().EndSession("ada") // nobody is refused it any more
		synctest.Wait()
		_, err := w.gateway.ReviewPin("up", mcp.KindTool, "echo")
		assert.ErrorContains(t, err, "has listed no tool")
	})
}
