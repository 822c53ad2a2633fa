package client

import (
	"sync"
	"sync/atomic"
	"time"
)

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

// An activity records when the server last sent something.
type activity struct {
	began chan struct{} // closed at the first byte
	last  atomic.Int64  // Unix time of the last one in nanoseconds; 0 for never
}

func (a *activity) record() {
	if a.last.Swap(time.Now().UnixNano()) == 0 {
		close(a.began)
	}
}

// time returns when something was last received, zero for never.
func (a *activity) time() time.Time {
	if last := a.last.Load(); last != 0 {
		return time.Unix(0, last)
	}
	return time.Time{}
}

// silence returns the time since something was last received, negative for never.
func (a *activity) silence() time.Duration {
	if last := a.time(); !last.IsZero() {
		return time.Since(last)
	}
	return -1
}

func (n *lockedStats) count(f func(n *Stats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.Stats)
}
