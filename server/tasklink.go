package server

import (
	"context"
	"sync"
)

// A taskLink is the link of a request until its response is sent. It drops later messages.
type taskLink struct {
	mu      sync.Mutex
	link    Link
	sending sync.WaitGroup
}

// close makes the link drop later messages. sending counts messages in progress.
func (l *taskLink) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link = nil
}

func (l *taskLink) Notify(ctx context.Context, method string, params any) error {
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

// Call is never used: if the handler sends requests to the client, the call is a task from the
// start.
func (l *taskLink) Call(context.Context, string, any, any) error { return errTaskEnded }
