package task

import (
	"context"
	"sync"

	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// A Link is the link of a request until its response is sent. It drops later messages.
type Link struct {
	mu      sync.Mutex
	link    outgoing.Link
	sending sync.WaitGroup
}

// NewLink returns a link that passes messages on to the link of the request.
func NewLink(of outgoing.Link) *Link { return &Link{link: of} }

// close makes the link drop later messages. sending counts messages in progress.
func (l *Link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link = nil
}

// Notify sends or drops a notification.
func (l *Link) Notify(ctx context.Context, method string, params any) error {
	l.mu.Lock()
	link := l.link
	if link != nil {
		l.sending.Add(1)
	}
	l.mu.Unlock()
	if link == nil {
		return nil
	}
	defer l.sending.Done()
	return link.Notify(ctx, method, params)
}

// Call is never used for questions: if the handler asks the client, the call is a task from the
// start.
func (l *Link) Call(context.Context, string, any, any) error { return errEnded }
