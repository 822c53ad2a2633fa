// Package cancelled remembers requests that were cancelled, which the server may still answer.
package cancelled

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc"
)

// maxCancelled is the number of cancelled requests that are remembered.
const maxCancelled = 64

// Requests holds the requests that were cancelled last. The server may still answer them,
// and if it answers a call of a tool with a task, the client cancels the task.
type Requests struct {
	mu   sync.Mutex
	last []request // the oldest first
}

type request struct {
	id     rpc.ID
	method string
}

func (l *Requests) add(id rpc.ID, method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == maxCancelled {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, request{id, method})
}

// Take removes a request, and returns its method, which is empty if the request was not present.
func (l *Requests) Take(id rpc.ID) string {
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

// Cancel cancels a request. It returns false if the response has arrived.
func (l *Requests) Cancel(method string, pending *rpc.Call, cause error) bool {
	l.add(pending.ID(), method) // first: the response may arrive at any moment
	if pending.Cancel(cause) {
		return true
	}
	l.Take(pending.ID())
	return false
}
