package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A progress sends the progress of a request to its client (2026-07-28, basic/patterns/progress).
// It drops steps that do not increase, and sends nothing once the request is done.
type progress struct {
	ctx   context.Context
	link  Link
	token json.RawMessage // as the client sent it

	mu      sync.Mutex
	last    float64
	sent    bool
	sending chan struct{}   // closed when the sending goroutine is done; nil: none sends
	next    *progressParams // the next step for that goroutine to send
	ended   bool
}

// progressParams are the params of notifications/progress.
type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// report sends a step. If another goroutine is sending, that goroutine sends the latest step when
// it has finished. A client that does not read delays only this operation, until its context ends.
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

// send sends one step. The caller holds mu, which send unlocks while it sends.
func (p *progress) send(s *progressParams) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return p.link.Notify(p.ctx, mcp.NotificationProgress, s)
}

// end waits for the step that is being sent. Later steps are dropped.
func (p *progress) end() {
	p.mu.Lock()
	p.ended = true
	sending := p.sending
	p.mu.Unlock()
	if sending != nil {
		<-sending
	}
}

// Progress reports the progress of a request to its client: done of total. A total of 0 means that
// it is unknown. Progress is for handlers of tools, prompts and resources; operations use
// [dispatch.Progress]. It does nothing if the client has not asked for progress or the handler has
// returned. It is safe for concurrent use.
func Progress(ctx context.Context, done, total float64, message string) {
	if r := requestFrom(ctx); r != nil && r.wantsProgress() {
		r.reportProgress(done, total, message)
	}
}

// wantsProgress reports whether progress is sent or recorded.
func (r *request) wantsProgress() bool { return r.progress != nil || r.task != nil }

// reportProgress records the progress of a task, or sends it to the client of a request.
func (r *request) reportProgress(done, total float64, message string) {
	switch {
	case r.task.IsTask():
		r.task.Report(done, total, message)
	case r.progress != nil:
		r.progress.report(done, total, message)
	}
}
