package client

import (
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/stray"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxSamples = 10 // of junk

// Stats counts messages of the server that the client skipped, repaired or dropped.
type Stats struct {
	Junk      int      // lines that are not MCP messages: usually logs that belong on stderr
	Samples   []string // the first ten of them, cut to 200 characters, safe to print
	Late      int      // responses to requests that were cancelled, for example after a timeout
	Unmatched int      // responses without a request, and second ones
	// responses with the id of their request in another notation, such as "1" for 1
	OtherIDs    int
	Repaired    int // messages with invalid Unicode, which U+FFFD has replaced
	DroppedLogs int // log messages that arrived faster than Options.OnLog returned
	// when the client last received anything from the server; zero for never
	LastReceived time.Time
}

// lockedStats are the Stats of a client.
type lockedStats struct {
	mu sync.Mutex
	Stats
}

// Stats returns the counts so far, and when something was last received.
func (c *Client) Stats() Stats {
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	n := c.stats.Stats
	n.Samples = slices.Clone(n.Samples)
	if last := c.link.last.Load(); last != 0 {
		n.LastReceived = time.Unix(0, last)
	}
	return n
}

func (n *lockedStats) count(f func(n *Stats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.Stats)
}

// stray handles, on the reader's goroutine, frames that the peer rejects. If only the Unicode of a
// message is invalid, it is repaired and read again: JavaScript's slice can split a surrogate pair,
// and the call must still end.
func (c *Client) stray(frame []byte, reason string) {
	if hook := c.o.Hooks.Safe().Stray; hook != nil {
		hook(frame, reason)
	}
	valid := jsonscan.Valid(frame) == nil
	if !valid {
		if fixed := stray.Repair(frame); jsonscan.Valid(fixed) == nil {
			c.codec.repaired = fixed
			c.stats.count(func(n *Stats) { n.Repaired++ })
			return
		}
	}
	if valid && jsonscan.Member(frame, "jsonrpc") != nil {
		late := c.lateResponse(frame)
		c.stats.count(func(n *Stats) {
			if late {
				n.Late++
			} else {
				n.Unmatched++
			}
		})
		return
	}
	c.stats.count(func(n *Stats) {
		n.Junk++
		if len(n.Samples) < maxSamples {
			n.Samples = append(n.Samples, stray.Sample(frame))
		}
	})
}

// countOtherID is the hook of the peer.
func (c *Client) countOtherID(frame []byte) {
	if hook := c.o.Hooks.Safe().OtherID; hook != nil {
		hook(frame)
	}
	c.stats.count(func(n *Stats) { n.OtherIDs++ })
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
	method := c.cancelled.Take(id)
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
