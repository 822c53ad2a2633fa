package client

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxCancelled is the number of cancelled requests that are remembered.
const maxCancelled = 64

// cancelledRequests holds the requests that were cancelled last. The server may still answer them,
// and if it answers a call of a tool with a task, the client cancels the task.
type cancelledRequests struct {
	mu   sync.Mutex
	last []cancelledRequest // the oldest first
}

type cancelledRequest struct {
	id     rpc.ID
	method string
}

func (l *cancelledRequests) add(id rpc.ID, method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == maxCancelled {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, cancelledRequest{id, method})
}

// take removes a request, and returns its method, which is empty if the request was not present.
func (l *cancelledRequests) take(id rpc.ID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range l.last {
		if r.id == id {
			l.last = slices.Delete(l.last, i, i+1)
			return r.method
		}
	}
	return ""
}

// cancel cancels a request. It returns false if the response has arrived.
func (l *cancelledRequests) cancel(method string, pending *rpc.Call, cause error) bool {
	l.add(pending.ID(), method) // first: the response may arrive at any moment
	if pending.Cancel(cause) {
		return true
	}
	l.take(pending.ID())
	return false
}

// lateResponse handles a response to no request that waits, on the reader's goroutine, and reports
// whether its request was cancelled. If the response creates a task, the task is cancelled.
func (c *Client) lateResponse(frame []byte) bool {
	m, err := rpc.ParseMessage(frame)
	if err != nil || !m.IsResponse() {
		return false
	}
	id, ok := m.ID.Integer()
	if !ok {
		return false
	}
	method := c.cancelled.take(id)
	if method == mcp.MethodCallTool && m.Error == nil {
		c.cancelLateTask(m)
	}
	return method != ""
}

func (c *Client) cancelLateTask(m rpc.Message) {
	err := decodeExperimentalTaskCreated(m.Result)
	if c.session.Load().features.ResultType {
		err = checkResultType(m.Result)
	}
	if p, ok := err.(*createdTaskError); ok {
		c.cancelAbandonedTask(&Task{c: c, id: p.task.TaskID, confirmed: true})
	}
}
