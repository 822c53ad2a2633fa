package client

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxLate is the number of cancelled calls that are remembered.
const maxLate = 64

// cancelledCalls holds the tool calls that were cancelled last. If a server answers one with a
// task, the client cancels the task.
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

// take removes a call, and reports whether it was present.
func (l *cancelledCalls) take(id rpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.ids, id)
	if i >= 0 {
		l.ids = slices.Delete(l.ids, i, i+1)
	}
	return i >= 0
}

// cancelLateTask handles an unmatched response, on the reader's goroutine. If the response creates
// a task, cancelLateTask cancels the task.
func (c *Client) cancelLateTask(frame []byte) {
	m, err := rpc.ParseMessage(frame)
	if err != nil || !m.IsResponse() || m.Error != nil {
		return
	}
	if id, ok := m.ID.Integer(); !ok || !c.late.take(id) {
		return
	}
	err = decodeExperimentalTaskCreated(m.Result)
	if c.session.Load().features.ResultType {
		err = checkResultType(m.Result)
	}
	if p, ok := err.(*createdTaskError); ok {
		c.cancelAbandonedTask(&Task{c: c, id: p.task.TaskID, confirmed: true})
	}
}

// giveUp cancels the request of a call. It returns false if the response has arrived.
func (c *Client) giveUp(r *call, pending *rpc.Call, cause error) bool {
	if r.method != mcp.MethodCallTool {
		return pending.Cancel(cause)
	}
	c.late.add(pending.ID()) // first: the response may arrive at any moment
	if pending.Cancel(cause) {
		return true
	}
	c.late.take(pending.ID())
	return false
}
