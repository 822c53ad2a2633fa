package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// progress tells a client how far its request has come (2026-07-28, basic/patterns/progress). What does not grow is not sent, and nothing is
// when the request is done.
type progress struct {
	ctx   context.Context
	link  Link
	token json.RawMessage // as the client sent it

	mu   sync.Mutex
	last float64
	sent bool
	over bool
}

func (p *progress) report(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.sent && done <= p.last {
		return
	}
	params := struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{p.token, done, total, message}
	// A client that does not read keeps the operation waiting, and only that; the context ends it.
	if p.link.Notify(p.ctx, mcp.NotificationProgress, params) == nil {
		p.last, p.sent = done, true
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}
