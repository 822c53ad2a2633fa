package server_test

import (
	"context"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// SubscribedResources returns the resources of all clients, in both eras, until they unsubscribe or
// disconnect.
func TestWatched(t *testing.T) {
	for _, revision := range []string{"2025-11-25", newest} {
		s := made(quiet, func(s *server.Server) {
			for _, uri := range []string{"mem://a", "mem://b"} {
				must(t, s.AddResource(
					server.Resource{Resource: mcp.Resource{URI: uri, Name: uri},
						Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
							return nil, nil
						}}))
			}
		})
		changes := make(chan struct{}, 100)
		s.Integration().SetUpstreams(server.Upstreams{
			SubscriptionsChanged: func() { changes <- struct{}{} }})
		until := func(want string) {
			t.Helper()
			for strings.Join(s.Integration().SubscribedResources(), " ") != want {
				<-changes
			}
		}
		until("")
		k := speak(t, s, revision, `{}`)
		if revision == newest {
			k.write(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["mem://b","mem://a"]},"_meta":{` +
				k.meta + `}}}`)
			k.next() // the acknowledgment
			until("mem://a mem://b")
			k.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
		} else {
			k.request("resources/subscribe", `{"uri":"mem://b"}`)
			k.request("resources/subscribe", `{"uri":"mem://a"}`)
			until("mem://a mem://b")
			k.request("resources/unsubscribe", `{"uri":"mem://b"}`)
			until("mem://a")
			k.request("resources/unsubscribe", `{"uri":"mem://a"}`)
		}
		until("")
		if revision != newest {
			k.request("resources/subscribe", `{"uri":"mem://b"}`)
			until("mem://b")
		}
		k.stream.Close()
		until("")
		s.Integration().SetUpstreams(server.Upstreams{})
		for len(changes) > 0 {
			<-changes
		}
		assert.Equal(t, len(changes), 0)
	}
}
