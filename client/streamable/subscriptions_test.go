package streamable_test

import (
	"net/http"
	"testing"
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
