package client

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

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

// The bound holds for subscriptions that are made at the same time, too.
func TestConcurrentSubscriptionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = subscription.MaxBytes // more than half of it twice is too much
		requested, mayAnswer := make(chan struct{}, 2), make(chan struct{})
		c := connect(t, Options{OnResourceUpdated: func(string) {}, MaxSend: 4 * most},
			func(s *scripted) {
				s.reply(s.read(), everything)
				for m := s.read(); m.Method != ""; m = s.read() {
					requested <- struct{}{}
					<-mayAnswer
					var listen mcp.ListenParams
					assert.Check(t, json.Unmarshal(m.Params, &listen))
					s.notify(mcp.NotificationSubscriptionsAcknowledged,
						acked(m, listen.Notifications.ResourceSubscriptions...))
				}
			})
		subscribe := func(uri string) <-chan error {
			result := make(chan error, 1)
			go func() { result <- c.Subscribe(t.Context(), uri+pad(most/2)) }()
			return result
		}
		first := subscribe("a:")
		<-requested
		second := subscribe("b:")
		synctest.Wait() // it waits for the first
		close(mayAnswer)
		assert.NilError(t, <-first)
		assert.Error(t, <-second, fmt.Sprintf(`server "server": subscriptions/listen: `+
			"the URIs of all subscriptions have %d bytes, more than %d", most+4, most))
		assert.Equal(t, len(c.listening.Subscribed()), 1)
		assert.Equal(t, len(requested), 0)
		shut(t, c)
	})
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
