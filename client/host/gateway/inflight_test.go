package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

var who = mcp.ElicitParams{Message: "Who?",
	RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}

// A call that is cancelled while its client is asked ends, and does not block questions of other
// calls.
func TestCancelledQuestion(t *testing.T) {
	withFixture(t, mcp.Legacy, func(t *testing.T, w *fixture) {
		ended := make(chan error, 1)
		w.add("ask", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			if _, err := server.Elicit(ctx, "k", who); err != nil {
				ended <- err
				return nil, err
			}
			return text("asked"), nil
		})
		// A handler that ignores the cancellation of its call.
		w.add("stubborn", func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			_, err := server.Elicit(context.WithoutCancel(ctx), "k", who)
			ended <- err
			return nil, err
		})
		time.Sleep(5 * time.Second)
		for name, tool := range map[string]string{"ask": "up__ask", "stubborn": "up__stubborn",
			"gone": "up__ask"} {
			ctx, cancel := context.WithCancel(t.Context())
			var c *client.Client
			o := client.Options{Era: mcp.Legacy,
				OnElicit: func(asked context.Context, _ mcp.ElicitParams) (*mcp.ElicitResult,
					error) {
					if name == "gone" {
						go c.Close() // Close waits for this handler
					} else {
						cancel()
					}
					<-asked.Done()
					return nil, asked.Err()
				}}
			began := time.Now()
			w.client(o, func(connected *client.Client) {
				c = connected
				_, err := c.CallTool(ctx, tool, nil)
				// The client that closes may still answer that it cannot be asked.
				stopped := errors.Is(err, context.Canceled) || errors.Is(err, rpc.ErrClosed)
				assert.Assert(t, stopped || name == "gone" && errors.Is(err, rpc.ErrMethodNotFound),
					"%s: %v", name, err)
				assert.Assert(t, <-ended != nil, name)
				assert.Assert(t, time.Since(began) < time.Minute, name)
			})
			cancel()
			answering := client.Options{Era: mcp.Legacy,
				OnElicit: mcptest.Answers[mcp.ElicitParams](t,
					&mcp.ElicitResult{Action: mcp.ElicitAccept})}
			w.client(answering, func(c *client.Client) {
				result, err := c.CallTool(t.Context(), "up__ask", nil)
				assert.NilError(t, err, name)
				assert.Assert(t, !result.IsError, name)
			})
		}
	})
}
