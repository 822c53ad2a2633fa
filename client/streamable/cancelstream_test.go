package streamable_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A legacy server that has sent a request because of a call cancels that request on the stream of
// the call, when the call is cancelled. Then the stream is closed, whether the server ends it or
// not, and is not reopened.
func TestCancelledStreamStaysOpen(t *testing.T) {
	for name, test := range map[string]struct {
		last func(*stream)
		took time.Duration
	}{
		"ended":     {func(*stream) {}, 0},
		"left open": {(*stream).hold, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			cancelled, over := make(chan struct{}), make(chan struct{})
			server := legacy(func(w http.ResponseWriter, r *recordedRequest) {
				s := events(w, r)
				s.raw("id: 1\nretry: 10\ndata: %s\n\n",
					`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Sure?",`+
						`"requestedSchema":{"type":"object","properties":{}}}}`)
				<-cancelled
				s.raw("id: 2\ndata: %s\n\n",
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
				test.last(s)
				close(over)
			}, nil)
			inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
				server(w, r)
				if r.message.Method == mcp.NotificationCancelled {
					close(cancelled)
				}
			}, func(t *testing.T, s *testServer) {
				cancelled, over = make(chan struct{}), make(chan struct{}) // of the bubble
				ctx, cancel := context.WithCancel(t.Context())
				withdrawn := make(chan struct{})
				c := s.connect(t,
					client.Options{OnElicit: func(ctx context.Context,
						_ mcp.ElicitParams) (*mcp.ElicitResult, error) {
						cancel()
						<-ctx.Done()
						close(withdrawn)
						return nil, ctx.Err()
					}})
				began := time.Now()
				_, err := c.CallTool(ctx, "weather", nil)
				assert.ErrorIs(t, err, context.Canceled)
				<-withdrawn
				assert.Equal(t, time.Since(began), time.Duration(0))
				<-over
				assert.Equal(t, time.Since(began), test.took)
				time.Sleep(time.Minute)
				for _, line := range s.lines() {
					assert.Assert(t, !strings.Contains(line, "last-event-id"), line)
				}
			})
		})
	}
}
