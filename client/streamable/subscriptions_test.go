package streamable_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// After a session was lost, changes are reported once the subscriptions are restored, so that none
// is missed.
func TestSubscriptionsOfLostSession(t *testing.T) {
	const took = time.Second
	var sessions int
	handshake := legacy(nil, nil)
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch r.message.Method {
		case mcp.MethodInitialize:
			sessions++
			w.Header().Set("Mcp-Session-Id", "s1")
			answerJSON(w, r,
				`{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"site","version":"1"}}`)
		case mcp.MethodSubscribe:
			time.Sleep(took)
			answerJSON(w, r, `{}`)
		case mcp.MethodPing:
			if sessions == 1 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			answerJSON(w, r, `{}`)
		default:
			handshake(w, r)
		}
	}, func(t *testing.T, s *testServer) {
		told := make(chan time.Time, 10)
		c := s.connect(t, client.Options{OnResourceUpdated: func(string) { told <- time.Now() }})
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
		began := time.Now()
		_, err := c.Call(t.Context(), mcp.MethodPing, nil)
		assert.NilError(t, err)
		assert.Equal(t, (<-told).Sub(began), took)
		assert.Equal(t, sessions, 2)
	})
}

// Defect G11 of other implementations: the loss of a subscription was not noticed; it was not
// reopened, and subscribing again was refused.
func TestLostSubscriptionsAreReopened(t *testing.T) {
	var opened atomic.Int64
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch r.message.Method {
		case "server/discover":
			answerJSON(w, r,
				strings.Replace(discovered, `"tools":{}`, `"resources":{"subscribe":true}`, 1))
		case "subscriptions/listen":
			n := opened.Add(1)
			stream := events(w, r)
			stream.notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":["a:1"]}}`,
				r.message.ID))
			if n > 1 || !wait(r, time.Second) {
				stream.hold()
			}
		}
	}, func(t *testing.T, s *testServer) {
		updates := make(chan string, 10)
		c := s.connect(t, client.Options{OnResourceUpdated: func(uri string) { updates <- uri }})
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
		assert.Equal(t, <-updates, "a:1") // it may have changed while the stream was closed
		synctest.Wait()
		assert.Equal(t, opened.Load(), int64(2))
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
	})
}
