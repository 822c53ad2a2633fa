// Package changes has what a server has announced as changed, until the application knows.
package changes

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/ondemand"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// without another change, before a list is fetched again
	debounceDelay    = 100 * time.Millisecond
	maxDebounceDelay = time.Second // after the first change it is fetched anyway
)

// A List is a list whose changes the server can announce. [NewLists] makes it ready for use.
type List struct {
	Notification string
	// IsDeclared reports whether the server declares that it announces changes.
	IsDeclared func(*mcp.ServerCapabilities) bool
	// AddTo adds the list to the filter of a modern subscription.
	AddTo func(*mcp.SubscriptionFilter)
	// Refresh fetches the list, if the application wants it, and runs the callback.
	Refresh func(context.Context)

	watched atomic.Bool   // set by Watch
	changed chan struct{} // capacity 1: the list has changed since the last refresh
	task    ondemand.Task // refreshes it
}

// NewLists returns those lists that have a function Refresh, which runs until ctx ends, on a
// goroutine that start starts.
func NewLists(ctx context.Context, start func(func()), all ...*List) []*List {
	var lists []*List
	for _, l := range all {
		if l.Refresh == nil {
			continue
		}
		l.changed = make(chan struct{}, 1)
		l.task.Start, l.task.Do = start, func() { l.refreshChanged(ctx) }
		lists = append(lists, l)
	}
	return lists
}

// MarkChanged has the list refreshed, as soon as it is watched. It does not block.
func (l *List) MarkChanged() {
	wake.Up(l.changed)
	if l.watched.Load() {
		l.task.Wake()
	}
}

// Watch starts refreshing the list, now if it has changed before.
func (l *List) Watch() {
	l.watched.Store(true)
	if len(l.changed) > 0 {
		l.task.Wake()
	}
}

// refreshChanged refreshes the list if it has changed. A server that registers a hundred tools
// sends a hundred notifications, so it waits until they pause. A change during a refresh causes
// another one.
func (l *List) refreshChanged(ctx context.Context) {
	select {
	case <-l.changed:
	default:
		return
	}
	calm, enough := time.NewTimer(debounceDelay), time.NewTimer(maxDebounceDelay)
	defer calm.Stop()
	defer enough.Stop()
	for settled := false; !settled; {
		select {
		case <-l.changed:
			calm.Reset(debounceDelay)
		case <-calm.C:
			settled = true
		case <-enough.C:
			settled = true
		case <-ctx.Done():
			return
		}
	}
	l.Refresh(ctx)
}
