package control

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

func TestCallCount(t *testing.T) {
	c := new(callCount)
	assert.Equal(t, c.text(), "no calls since this watch began")
	assert.Equal(t, (*callCount)(nil).text(), "no calls since this watch began")
	answer := func(from tap.Direction, kind tap.Type, method, failed string, ms float64) {
		c.add(&tap.Record{From: from,
			Message: tap.Message{Type: kind, Method: method, Failed: failed, Ms: ms}})
	}
	answer(tap.FromServer, tap.Response, "tools/list", "", 7)
	answer(tap.FromClient, tap.Response, "tools/call", "", 7)
	answer(tap.FromClient, tap.Request, "tools/call", "", 7)
	answer(tap.FromServer, tap.Notification, "tools/call", "", 7)
	assert.Equal(t, c.text(), "no calls since this watch began")
	answer(tap.FromServer, tap.Response, "tools/call", "", 4)
	answer(tap.FromServer, tap.Response, "resources/read", "-32002", 8)
	assert.Equal(t, c.text(), "2 calls, 1 error, p50 4.0 ms, p95 8.0 ms")
	for i := range 3 * maxDurations {
		answer(tap.FromServer, tap.Response, "tools/call", "", float64(i%10))
	}
	assert.Equal(t, len(c.latest), maxDurations)
	assert.Equal(t, c.text(), "3002 calls, 1 error, p50 4.0 ms, p95 9.0 ms")
}

func TestWatchLines(t *testing.T) {
	w := &gatewayWatch{calls: map[string]*callCount{"a": {calls: 1, latest: []float64{2}}}}
	g := &gatewayClient{Statuses: ops.Statuses{Servers: []ops.Status{{Server: "a", State: "ready"},
		{Server: "a", State: "ready", Session: "1"},
		{Server: "long", State: "failed", Error: "no\x1b[31m\nkey", WithheldMore: 2,
			Withheld: []ops.WithheldItem{{}}}}}}
	assert.Equal(t, fmt.Sprintf("%q", w.lines(g)),
		`["a     ready     1 call, 0 errors, p50 2.0 ms, p95 2.0 ms" "a     ready"`+
			` "long  failed    no calls since this watch began, 3 withheld, no key"]`)
	w.missed = 2
	lines := w.lines(g)
	assert.Equal(t, lines[len(lines)-1], "2 messages not counted: the gateway discarded them")
}
