package streamable_test

import (
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Defect M13 of other implementations: callbacks ran on the reading goroutine, so a callback that
// used the client deadlocked.
func TestCallbacksMayCall(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		stream.notify("notifications/message", `{"level":"info","data":1}`)
		stream.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
		if wait(r, time.Second) {
			stream.result(text)
		}
	}), func(t *testing.T, s *testServer) {
		var c *client.Client
		first := make(chan struct{})
		done := make(chan struct{}, 10)
		c = s.connect(t, client.Options{LogLevel: "info", OnLog: func(mcp.LoggingMessageParams) {
			select {
			case <-first:
			default:
				close(first)
				check(t, c)
				done <- struct{}{}
			}
		}})
		_, err := call(t, c, client.OnProgress(func(mcp.ProgressParams) { check(t, c) }))
		assert.NilError(t, err)
		<-done
	})
}
