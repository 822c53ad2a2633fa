// Package progress passes the progress notifications of a server to the calls that they are about.
package progress

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Table passes progress notifications to calls by their progress tokens.
type Table struct {
	mu    sync.Mutex
	last  int64
	boxes map[int64]*Mailbox
}

// A Mailbox holds the latest progress of one call until its goroutine takes it. New
// progress replaces the old, so a slow call needs memory for one message only.
type Mailbox struct {
	Token int64
	Ready chan struct{} // capacity 1: there may be new progress

	mu        sync.Mutex
	params    []byte        // empty after Take
	put       uint64        // number of messages so far
	taken     uint64        // of those, up to the one that is being delivered
	delivered uint64        // of those, up to the last one whose delivery has ended
	changed   chan struct{} // closed when delivered changes; nil: nobody waits
}

// maxWait is how long a question waits for the delivery of progress that arrived before it. A
// callback for progress that takes longer does not delay questions further, which may be those of
// other calls.
const maxWait = time.Second

// Open adds a mailbox with a new token.
func (t *Table) Open() *Mailbox {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.boxes == nil {
		t.boxes = make(map[int64]*Mailbox)
	}
	t.last++
	box := &Mailbox{Token: t.last, Ready: make(chan struct{}, 1)}
	t.boxes[box.Token] = box
	return box
}

// Len returns the number of calls that have a mailbox.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.boxes)
}

// Close removes a mailbox and drops what was not delivered.
func (t *Table) Close(box *Mailbox) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.boxes, box.Token)
	box.end()
}

// Await blocks until the progress that has arrived was delivered to calls in flight or dropped, for
// at most maxWait or until ctx ends.
func (t *Table) Await(ctx context.Context) {
	t.mu.Lock()
	pending := make(map[*Mailbox]uint64)
	for _, box := range t.boxes {
		box.mu.Lock()
		if box.delivered < box.put {
			pending[box] = box.put
		}
		box.mu.Unlock()
	}
	t.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for box, put := range pending {
		for {
			changed := box.until(put)
			if changed == nil {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Put handles notifications/progress, on the reader's goroutine. Progress of ended calls is
// dropped.
func (t *Table) Put(params []byte) {
	text := jsonscan.Member(params, mcp.MetaProgressToken)
	if unquoted, ok := jsonscan.Unquote(text); ok {
		text = unquoted // some send a number back as a string
	}
	token, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return
	}
	t.mu.Lock()
	box := t.boxes[token]
	t.mu.Unlock()
	if box == nil {
		return
	}
	box.mu.Lock()
	box.params = append(box.params[:0], params...)
	box.put++
	box.mu.Unlock()
	wake.Up(box.Ready)
}

// until returns nil if the first put messages were delivered, and otherwise a channel that is
// closed when more were.
func (b *Mailbox) until(put uint64) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delivered >= put {
		return nil
	}
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Done ends the delivery of what was taken.
func (b *Mailbox) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delivered = b.taken
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// end drops what was not delivered.
func (b *Mailbox) end() {
	b.mu.Lock()
	b.taken = b.put
	b.mu.Unlock()
	b.Done()
}

// Take empties the mailbox, and returns nil if there is no valid progress. The caller calls Done
// after it has delivered the progress.
func (b *Mailbox) Take() *mcp.ProgressParams {
	b.mu.Lock()
	params := bytes.Clone(b.params)
	b.params = b.params[:0]
	b.taken = b.put
	b.mu.Unlock()
	if len(params) == 0 {
		return nil
	}
	p := new(mcp.ProgressParams)
	if mcp.Unmarshal(params, p) != nil {
		return nil
	}
	return p
}
