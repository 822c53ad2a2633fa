package client

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxLate is how many calls are remembered after they were given up.
const maxLate = 64

// lateCalls are the calls of tools that were given up last. If the server answers one with a task in that very moment, nobody learns of the task.
type cancelledCalls struct {
	mu  sync.Mutex
	ids []rpc.ID // the oldest first
}

func (l *cancelledCalls) add(id rpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) == maxLate {
		l.ids = slices.Delete(l.ids, 0, 1)
	}
	l.ids = append(l.ids, id)
}

// take reports whether the call is one of them, and forgets it.
func (l *cancelledCalls) take(id rpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.ids, id)
	if i >= 0 {
		l.ids = slices.Delete(l.ids, i, i+1)
	}
	return i >= 0
}

// lateTask takes an answer to nothing, on the reader's goroutine, and has the task cancelled that it may promise.
func (c *Client) cancelLateTask(frame []byte) {
	m, err := rpc.ParseMessage(frame)
	if err != nil || !m.IsResponse() || m.Error != nil || !c.late.take(m.ID) {
		return
	}
	came := decodeExperimentalTaskCreated(m.Result)
	if c.session.Load().features.ResultType {
		came = checkResultType(m.Result)
	}
	if p, ok := came.(*createdTaskError); ok {
		c.cancelAbandonedTask(&Task{c: c, id: p.task.TaskID, confirmed: true})
	}
}

// giveUp cancels a call's request. It reports false if that has been answered.
func (c *Client) giveUp(r *call, pending *rpc.Pending, cause error) bool {
	if r.method != mcp.MethodCallTool {
		return pending.Cancel(cause)
	}
	c.late.add(pending.ID()) // first: the answer may come at any moment
	if pending.Cancel(cause) {
		return true
	}
	c.late.take(pending.ID())
	return false
}
