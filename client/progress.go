package client

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A progressTable passes progress notifications to calls by their progress tokens.
type progressTable struct {
	mu    sync.Mutex
	last  int64
	boxes map[int64]*progressMailbox
}

// A progressMailbox holds the latest progress of one call until its goroutine takes it. New
// progress replaces the old, so a slow call needs memory for one message only.
type progressMailbox struct {
	token int64
	ready chan struct{} // capacity 1: there may be new progress

	mu     sync.Mutex
	params []byte // empty after take
}

// open adds a mailbox with a new token.
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

// put handles notifications/progress, on the reader's goroutine. Progress of ended calls is
// dropped.
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

// take empties the mailbox; ok is false if there is no valid progress.
func (b *progressMailbox) take() (p mcp.ProgressParams, ok bool) {
	b.mu.Lock()
	params := bytes.Clone(b.params)
	b.params = b.params[:0]
	b.mu.Unlock()
	return p, len(params) > 0 && mcp.Unmarshal(params, &p) == nil
}
