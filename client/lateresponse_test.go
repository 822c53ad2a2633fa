package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// If a call has just been given up and its response creates a task, the task is cancelled, because
// no caller knows it. Other late responses have no effect.
func TestLateTask(t *testing.T) {
	for name, test := range map[string]struct {
		era    mcp.Era
		answer string
		cancel int
	}{
		"a task":      {0, taskCreated, 1},
		"a task, old": {mcp.Legacy, oldCreated, 1},
		"a result": {0,
			`{"resultType":"complete","task":{"taskId":"T","status":"working"}}`, 0},
		"a result, old":       {mcp.Legacy, plain, 0},
		"an error":            {0, failure(-32603, "?"), 0},
		"a task without a id": {0, strings.Replace(taskCreated, `"T"`, `""`, 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var call message
				w := &worker{era: test.era}
				w.meet = func(s *scripted, m message) bool {
					switch m.Method {
					case "tools/call":
						call = m
						return true
					case "notifications/cancelled":
						w.reply(s, call, test.answer)
						w.reply(s, call, test.answer) // a second response has no effect
						w.reply(s, message{ID: []byte("777")}, test.answer)
					}
					return false
				}
				c := w.connect(t, Options{})
				_, err := c.StartTool(t.Context(), "slow", nil, Timeout(time.Second))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				synctest.Wait()
				assert.Equal(t, len(w.params("tasks/cancel")), test.cancel, w.said())
				assert.Equal(t, c.Stats().Late, 1)
				assert.Equal(t, c.Stats().Unmatched, 2)
			})
		})
	}
}
