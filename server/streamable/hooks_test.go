package streamable_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// The server's hooks see what goes over HTTP as they see what goes over streams.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(parts ...string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join(parts, " "))
	}
	direction := map[rpc.Direction]string{rpc.Inbound: "<", rpc.Outbound: ">"}
	s := startWorld(t, streamable.Options{}, server.Options{Hooks: rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
			note(direction[d], string(frame[:min(len(frame), 40)]))
		},
		Call: func(e rpc.CallEvent) {
			if e.End {
				note(direction[e.Direction], "ended", e.Method, e.ID.String())
				return
			}
			note(direction[e.Direction], "began", e.Method, e.ID.String())
		},
		Stray:   func(_ []byte, reason string) { note("stray", reason) },
		OtherID: func([]byte) { note("other id") },
		Panic: func(method string, value any,
			_ []byte) {
			note("panic", method, fmt.Sprint(value))
		},
	}})
	s.offer("explode", func(context.Context) (*mcp.CallToolResult, error) { panic("ashes") })
	check := func(want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		assert.DeepEqual(t, seen, want)
		seen = nil
	}
	_ = s.tool("explode", `{}`, "").text()
	check(`< {"jsonrpc":"2.0","id":1,"method":"tools/`, "< began tools/call 1",
		"< ended tools/call 1", "panic tools/call ashes",
		`> {"jsonrpc":"2.0","id":1,"error":{"code":`)
	_ = s.modern("tools/list", "", "", "-Accept\nAccept: text/event-stream").text()
	check(`< {"jsonrpc":"2.0","id":1,"method":"tools/`, "< began tools/list 1",
		"< ended tools/list 1", `> {"jsonrpc":"2.0","id":1,"result":{"tools`)
	_ = s.do(t.Context(), "POST", s.url, "{", "").text()
	check("< {", "stray invalid JSON at byte 1: expected a member name in quotation marks",
		`> {"jsonrpc":"2.0","id":null,"error":{"cod`)

	c := s.connect("2025-06-18", "")
	check(`< {"jsonrpc":"2.0","id":"i","method":"init`, `< began initialize "i"`,
		`< ended initialize "i"`, `> {"jsonrpc":"2.0","id":"i","result":{"pro`,
		`< {"jsonrpc":"2.0","method":"notifications`, "< began notifications/initialized null",
		"< ended notifications/initialized null")
	a := c.call("5", "ask", "", "").isStream()
	a.event("elicitation/create")
	_ = c.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, "").text()
	a.event("decline")
	a.ends()
	_ = c.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "").text()
	check(`< {"jsonrpc":"2.0","id":5,"method":"tools/`, "< began tools/call 5",
		"> began elicitation/create 1", `> {"jsonrpc":"2.0","id":1,"method":"elicit`,
		`< {"jsonrpc":"2.0","id":1,"result":{"actio`, "> ended elicitation/create 1",
		"< ended tools/call 5", `> {"jsonrpc":"2.0","id":5,"result":{"conte`,
		`< {"jsonrpc":"2.0","id":1,"result":{}}`, "stray a response that matches no call in flight")

	// A client may write its answer's id 2 as "2".
	a = c.call("6", "ask", "", "").isStream()
	a.event("elicitation/create")
	_ = c.post(`{"jsonrpc":"2.0","id":"2","result":{"action":"decline"}}`, "").text()
	a.event("decline")
	a.ends()
	check(`< {"jsonrpc":"2.0","id":6,"method":"tools/`, "< began tools/call 6",
		"> began elicitation/create 2", `> {"jsonrpc":"2.0","id":2,"method":"elicit`,
		`< {"jsonrpc":"2.0","id":"2","result":{"act`, "other id", "> ended elicitation/create 2",
		"< ended tools/call 6", `> {"jsonrpc":"2.0","id":6,"result":{"conte`)
}
