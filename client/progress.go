package client

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// progressTable routes progress notifications to the calls that asked for them, each under a token of its own.
type progressTable struct {
	mu    sync.Mutex
	last  int64
	boxes map[int64]*progressMailbox
}

// A mailbox holds the latest progress of one call until the call's own goroutine looks at it. What comes faster than that replaces what is there:
// progress is a state, and only the newest counts. So a call that nobody looks after costs one message.
type progressMailbox struct {
	token int64
	ready chan struct{} // capacity 1: there may be something new

	mu     sync.Mutex
	params []byte // empty if it was looked at
}

// open makes a mailbox with a new token.
func (t *progressTable) open() *progressMailbox {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.boxes == nil {
		t.boxes = make(map[int64]*progressMailbox)
	}
	t.last++
	box := &progressMailbox{token: t.last, ready: make(chan struct{}, 1)}
	t.boxes[box.token] = box
	return box
}

func (t *progressTable) close(box *progressMailbox) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.boxes, box.token)
}

// put takes the params of notifications/progress, on the reader's goroutine. Those of calls that have ended are dropped.
func (t *progressTable) put(params []byte) {
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
	box.mu.Unlock()
	select {
	case box.ready <- struct{}{}:
	default:
	}
}

// take returns what is new and empties the box; false if there is nothing, or nothing that makes sense.
func (b *progressMailbox) take() (p mcp.ProgressParams, ok bool) {
	b.mu.Lock()
	params := bytes.Clone(b.params)
	b.params = b.params[:0]
	b.mu.Unlock()
	return p, len(params) > 0 && mcp.Unmarshal(params, &p) == nil
}
