package client

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const (
	maxUpdates     = 1024    // URIs that wait for OnResourceUpdated
	maxUpdateBytes = 1 << 20 // of all of them
)

// An updateQueue holds the URIs of changed resources, each once, until Options.OnResourceUpdated is
// called. When it is full, it only records that every resource may have changed.
type updateQueue struct {
	ready chan struct{} // capacity 1: the queue is not empty

	mu    sync.Mutex
	uris  []string
	seen  map[string]bool // the URIs in uris
	bytes int
	full  bool // every resource may have changed
}

// put handles notifications/resources/updated, on the reader's goroutine.
func (q *updateQueue) put(params []byte) {
	uri, ok := jsonscan.Text(jsonscan.Member(params, "uri"))
	if !ok {
		return
	}
	q.mu.Lock()
	if !q.full && !q.seen[uri] {
		q.uris = append(q.uris, uri)
		q.seen[uri] = true
		q.bytes += len(uri)
		if len(q.uris) > maxUpdates || q.bytes > maxUpdateBytes {
			q.clear()
			q.full = true
		}
	}
	q.mu.Unlock()
	q.wake()
}

// all records that every resource may have changed.
func (q *updateQueue) all() {
	q.mu.Lock()
	q.clear()
	q.full = true
	q.mu.Unlock()
	q.wake()
}

func (q *updateQueue) clear() {
	q.uris, q.bytes, q.full = nil, 0, false
	clear(q.seen)
}

func (q *updateQueue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *updateQueue) take() (uris []string, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	uris, full = q.uris, q.full
	q.clear()
	return uris, full
}

// deliverUpdates calls OnResourceUpdated until the connection ends.
func (c *Client) deliverUpdates() {
	for {
		select {
		case <-c.updates.ready:
		case <-c.ctx.Done():
			return
		}
		uris, full := c.updates.take()
		if full {
			for uri := range c.listening.subscribed() {
				uris = append(uris, uri)
			}
			slices.Sort(uris)
		}
		for _, uri := range uris {
			if c.ctx.Err() != nil {
				return
			}
			c.runCallback("OnResourceUpdated", func() { c.o.OnResourceUpdated(uri) })
		}
	}
}
