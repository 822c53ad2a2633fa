package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A resource that is in no list is read by the function of a gateway.
func TestUpstreamsRead(t *testing.T) {
	read := func(_ context.Context, uri string) (json.RawMessage, error) {
		if uri == "x:none" {
			return nil, server.ResourceNotFound(uri)
		}
		return json.RawMessage(`{"contents":[{"uri":"` + uri + `","text":"unlisted"}]}`), nil
	}
	o := quiet
	o.Visible = func(_ context.Context, _ mcp.Kind, key string) bool { return key != "x:hidden" }
	s := made(o, func(s *server.Server) {
		must(t, s.AddResource(
			server.Resource{Resource: mcp.Resource{URI: "x:listed", Name: "n"},
				Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{
						Contents: []mcp.ResourceContents{{URI: uri, Text: "listed"}}}, nil
				}}))
		s.Integration().SetUpstreams(server.Upstreams{Read: read})
	})
	in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for uri, want := range map[string]string{"x:listed": `"text":"listed"`,
			"x:other": `"text":"unlisted"`, "x:none": "Resource not found: x:none",
			"x:hidden": "Resource not found: x:hidden"} {
			m := k.request("resources/read", `{"uri":"`+uri+`"}`)
			assert.Assert(t, strings.Contains(m.raw, want), m.raw)
		}
	})
	s.Integration().SetUpstreams(server.Upstreams{})
	assert.Assert(t,
		strings.Contains(
			speak(t, s, newest, `{}`).request("resources/read", `{"uri":"x:other"}`).raw,
			"Resource not found: x:other"))
}
