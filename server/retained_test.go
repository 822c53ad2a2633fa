package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const handshake = `{"protocolVersion":"2025-11-25","capabilities":%s,` +
	`"clientInfo":{"name":"c","version":"1"}}`

// A connection keeps the members of the capabilities that the protocol defines, up to 16 KiB, and
// holds as much of its principal's memory.
func TestKeptCapabilities(t *testing.T) { synctest.Test(t, testKeptCapabilities) }

func testKeptCapabilities(t *testing.T) {
	o := quiet
	o.Memory = dispatch.NewBudget(20_000)
	var kept mcp.ClientCapabilities
	s := made(o, func(s *server.Server) {
		must(t, s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "look"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				kept = server.ConnFrom(ctx).Capabilities()
				return textResult("seen"), nil
			}}))
	})
	k := speak(t, s, "2025-11-25", `{}`)
	assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))
	large := strings.Repeat("x", 17_000)
	for _, capabilities := range []string{
		`{"experimental":{"a":{"b":"` + large + `"}}}`,
		`{"extensions":{"a/b":{"c":"` + large + `"}}}`,
		`{"roots":{"other":"` + large + `"}}`,
		`"` + large + `"`,
	} {
		k.expectError("initialize", fmt.Sprintf(handshake, capabilities), -32602,
			"the capabilities have")
		assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))
	}

	k.request("initialize", fmt.Sprintf(handshake, `{"other":"`+large+
		`", "sampling" : {"tools":{}},"elicitation":{},"roots":{"listChanged":true},`+
		`"experimental":{"e":{"on":true},"f":"`+large[:2000]+`"},"extensions":{"a/b":{"c":1}},"tasks":{"list":{}}}`))
	k.request("tools/call", `{"name":"look"}`)
	assert.Assert(t, kept.Sampling.Tools != nil && kept.Elicitation != nil &&
		kept.Roots.ListChanged && kept.Tasks.List != nil && kept.Extra == nil)
	assert.Equal(t, string(kept.Extensions["a/b"]), `{"c":1}`)
	assert.Equal(t, string(kept.Experimental["e"]), `{"on":true}`)
	held := (*quota.Pool)(o.Memory).Used()
	assert.Assert(t, held > 2100 && held < 2300, held)
	k.request("initialize", fmt.Sprintf(handshake, `{}`)) // the last one counts
	assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))

	most := fmt.Sprintf(handshake, `{"extensions":{"a/b":{"c":"`+large[:15_000]+`"}}}`)
	k.request("initialize", most)
	other := speak(t, s, "2025-11-25", `{}`)
	other.expectError("initialize", most, rpc.CodeBusy, "no room for the client's capabilities")
	k.stream.Close()
	synctest.Wait()
	assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))
	other.request("initialize", most)
	assert.Assert(t, (*quota.Pool)(o.Memory).Used() > 15_000)
}

// A subscription is refused before its URI is copied or looked up, if the URI is too long or the
// principal's share of all subscribed URIs is used.
func TestSubscribedURIsAreBounded(t *testing.T) {
	for _, revision := range []string{"2025-11-25", newest} {
		synctest.Test(t, func(t *testing.T) {
			o := quiet
			o.Watched = dispatch.NewBudget(20_000)
			o.Visible = func(_ context.Context, _ mcp.Kind, key string) bool {
				assert.Assert(t, len(key) < 9000, "a long URI was looked up")
				return true
			}
			s := three(t, o)
			k := speak(t, s, revision, `{}`)
			subscribe := func(uri string) (string, string) {
				return "resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)
			}
			if revision == newest {
				subscribe = func(uri string) (string, string) {
					return "subscriptions/listen",
						fmt.Sprintf(`{"notifications":{"resourceSubscriptions":[%q]}}`, uri)
				}
			}
			long := strings.Repeat("7", 8000)
			method, params := subscribe("t:" + long + long)
			k.expectError(method, params, -32602, "8192 bytes")
			for i := range 2 {
				method, params = subscribe(fmt.Sprint("t:", i, long))
				k.request(method, params)
			}
			assert.Equal(t, len(s.Integration().SubscribedResources()), 2)
			method, params = subscribe("t:9" + long)
			k.expectError(method, params, rpc.CodeBusy, "no room for another subscription")
			assert.Equal(t, len(s.Integration().SubscribedResources()), 2)
			if revision != newest {
				k.request("resources/unsubscribe", fmt.Sprintf(`{"uri":%q}`, "t:0"+long))
				k.request(method, params)
			}
			k.stream.Close()
			synctest.Wait()
			assert.Equal(t, (*quota.Pool)(o.Watched).Used(), int64(0))
		})
	}
}

// An open subscription holds the memory of its id, which its notifications repeat.
func TestSubscriptionHoldsItsID(t *testing.T) {
	o := quiet
	o.Memory = dispatch.NewBudget(1_000_000)
	s := three(t, o)
	k := speak(t, s, newest, `{}`)
	listen := func(id string) {
		k.write(`{"jsonrpc":"2.0","id":"` + id + `","method":"subscriptions/listen","params":` +
			`{"notifications":{"resourcesListChanged":true},"_meta":{` + k.meta + `}}}`)
	}
	listen(strings.Repeat("x", 400_000))
	k.next() // the acknowledgment
	assert.Assert(t, (*quota.Pool)(o.Memory).Used() >= 800_000, (*quota.Pool)(o.Memory).Used())
	listen(strings.Repeat("y", 400_000))
	assert.Assert(t, strings.Contains(k.next().raw, "no room for another subscription"))
}

// A task holds the memory of its request.
func TestTaskHoldsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Memory = dispatch.NewBudget(1_000_000)
		release := make(chan struct{})
		s := newTaskServer(t, o, func(s *server.Server) {
			must(t, s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "wait"}, Tasks: mcp.TaskRequired,
					Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
						<-release
						return textResult("done"), nil
					}}))
		})
		j := newTaskClient(t, s, newest, tasking)
		large := `{"a":"` + strings.Repeat("x", 600_000) + `"}`
		id := j.begin("wait", large).TaskID
		synctest.Wait()
		assert.Assert(t, (*quota.Pool)(o.Memory).Used() > 600_000, (*quota.Pool)(o.Memory).Used())
		m := j.request("tools/call", `{"name":"wait","arguments":`+large+`}`)
		assert.Assert(t, strings.Contains(m.raw, "no room for another task"), m.raw)
		close(release)
		assert.Equal(t, j.settled(id).Status, "completed")
		assert.Equal(t, (*quota.Pool)(o.Memory).Used(), int64(0))
	})
}
