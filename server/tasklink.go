package server

import (
	"context"
	"sync"
)

// A leash is a request's link, for as long as the request has no answer. Then what is sent along it
// is dropped.
type taskLink struct {
	mu      sync.Mutex
	link    Link
	sending sync.WaitGroup
}

// close lets nothing more be sent; what is being sent goes on, and sending counts it.
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

// Call is for nobody: who calls clients has a task from the start, which asks when the client comes
// for the result.
func (l *taskLink) Call(context.Context, string, any, any) error { return errTaskEnded }
