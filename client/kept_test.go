package client

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The result of the handshake is kept, so its size is bounded, in both eras.
func TestHandshakeIsBounded(t *testing.T) {
	for method, script := range map[string]func(*scripted){
		"server/discover": func(s *scripted) {
			s.reply(s.read(), `{"resultType":"complete","supportedVersions":["2026-07-28"],`+
				`"capabilities":{},"instructions":"`+pad(maxHandshake)+`"}`)
			s.hold()
		},
		"initialize": func(s *scripted) {
			s.refuse(s.read(), rpc.CodeMethodNotFound, "Method not found")
			s.reply(s.read(), `{"protocolVersion":"2025-11-25","capabilities":{"experimental":`+
				`{"a":"`+pad(maxHandshake)+`"}},"serverInfo":{"name":"s","version":"1"}}`)
			s.hold()
		},
	} {
		_, err := Connect(t.Context(), stream(script))
		assert.ErrorContains(t, err, "the result of "+method+" has 4194")
	}
}

// Subscriptions are refused before anything is sent if their URIs are too large together.
func TestSubscribedURIsAreBounded(t *testing.T) {
	o := Options{OnResourceUpdated: func(string) {}}
	c := connect(t, o, func(s *scripted) {
		s.reply(s.read(), `{"resultType":"complete","supportedVersions":["2026-07-28"],`+
			`"capabilities":{"resources":{"subscribe":true}}}`)
		for m := s.read(); m.Method != ""; m = s.read() {
			assert.Check(t, len(m.line) < subscription.MaxBytes)
			if m.Method == mcp.MethodListen {
				s.notify(mcp.NotificationSubscriptionsAcknowledged, acked(m, "mem://a"))
			}
		}
	})
	assert.NilError(t, c.Subscribe(t.Context(), "mem://a"))
	err := c.Subscribe(t.Context(), "mem://"+pad(subscription.MaxBytes-10))
	assert.ErrorContains(t, err, fmt.Sprint("have ", subscription.MaxBytes+3, " bytes, more than"))
	assert.NilError(t, c.Subscribe(t.Context(), "mem://a"))
	shut(t, c)
}

// All pages of a list together are bounded.
func TestListIsBoundedInBytes(t *testing.T) {
	pages := 0
	c := connect(t, Options{}, func(s *scripted) {
		s.modern()
		for m := s.read(); m.Method != ""; m = s.read() {
			pages++ // read after the connection has ended
			s.reply(m, fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private",`+
				`"tools":[{"name":"t%d","inputSchema":{"type":"object"},"description":"%s"}],`+
				`"nextCursor":"%d"}`, pages, pad(16<<20), pages))
		}
	})
	n := 0
	for _, err := range c.pages(t.Context(), mcp.MethodListTools, nil, nil) {
		assert.NilError(t, err)
		n++
	}
	assert.Equal(t, n, 3)
	assert.Equal(t, pages, 4)
	shut(t, c)
}
