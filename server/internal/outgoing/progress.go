package outgoing

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Progress sends the progress of a request to its client (2026-07-28, basic/patterns/progress).
// It drops steps that do not increase, and sends nothing once the request is done.
type Progress struct {
	Context context.Context // of the request
	Link    Link
	Token   json.RawMessage // as the client sent it

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

// Report sends a step. If another goroutine is sending, that goroutine sends the latest step when
// it has finished. A client that does not read delays only this operation, until its context ends.
func (p *Progress) Report(done, total float64, message string) {
	s := &progressParams{p.Token, done, total, message}
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
func (p *Progress) send(s *progressParams) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return p.Link.Notify(p.Context, mcp.NotificationProgress, s)
}

// End waits for the step that is being sent. Later steps are dropped. For nil it does nothing.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ended = true
	sending := p.sending
	p.mu.Unlock()
	if sending != nil {
		<-sending
	}
}
