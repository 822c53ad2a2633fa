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

	mu      sync.Mutex
	last    float64
	sent    bool
	sending chan struct{}   // closed when a goroutine has sent what there is; nil: none is at it
	next    *progressParams // to be sent by that goroutine
	ended   bool
}

// A step is what a client is told.
type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// report tells the client. While another goroutine does, that takes over the latest step. A client
// that does not read keeps the operation waiting, and only that; the context ends it.
func (p *progress) report(done, total float64, message string) {
	s := &progressParams{p.token, done, total, message}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended, p.sent && done <= p.last, p.next != nil && done <= p.next.Progress:
		return
	case p.sending != nil:
		p.next = s
		return
	}
	p.sending = make(chan struct{})
	defer func() {
		close(p.sending)
		p.sending = nil
	}()
	for ; s != nil && !p.ended; s, p.next = p.next, nil {
		if p.last >= s.Progress && p.sent {
			continue
		}
		if p.send(s) == nil {
			p.last, p.sent = s.Progress, true
		}
	}
}

// send sends one step, without the lock. With mu.
func (p *progress) send(s *progressParams) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return p.link.Notify(p.ctx, mcp.NotificationProgress, s)
}

// end has nothing sent any more when it returns.
func (p *progress) end() {
	p.mu.Lock()
	p.ended = true
	sending := p.sending
	p.mu.Unlock()
	if sending != nil {
		<-sending
	}
}

// Progress tells the client how far its request has come: done of total, 0 for a total not known. It is for handlers of tools, prompts and resources; operations
// have [dispatch.Progress]. It does nothing if the client does not ask for progress, or the handler has returned. It is safe for concurrent use.
func Progress(ctx context.Context, done, total float64, message string) {
	if r := requestFrom(ctx); r != nil && r.wantsProgress() {
		r.reportProgress(done, total, message)
	}
}

// wantsProgress says whether anybody hears of progress.
func (r *request) wantsProgress() bool { return r.progress != nil || r.task != nil }

// reportProgress reports progress to whom it concerns: who watches the task, or who waits for the answer.
func (r *request) reportProgress(done, total float64, message string) {
	switch {
	case r.task.created():
		r.task.report(done, total, message)
	case r.progress != nil:
		r.progress.report(done, total, message)
	}
}
