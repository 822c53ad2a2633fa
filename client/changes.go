package client

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/ondemand"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// without another change, before a list is fetched again
	debounceDelay    = 100 * time.Millisecond
	maxDebounceDelay = time.Second // after the first change it is fetched anyway
)

// A watchedList is a list whose changes the server can announce. newWatchedLists returns all of
// them.
type watchedList struct {
	notification string
	// isDeclared reports whether the server declares that it announces changes.
	isDeclared func(*mcp.ServerCapabilities) bool
	// addTo adds the list to the filter of a modern subscription.
	addTo func(*mcp.SubscriptionFilter)
	// refresh fetches the list, if the application wants it, and runs the callback.
	refresh func(context.Context)

	changed chan struct{} // capacity 1: the list has changed since the last refresh
	task    ondemand.Task // refreshes it
}

// markChanged has a list refreshed, once the connection is open. It does not block.
func (c *Client) markChanged(l *watchedList) {
	wake.Up(l.changed)
	if c.watching.Load() {
		l.task.Wake()
	}
}

// newWatchedLists returns the lists whose changes the application has callbacks for.
func (c *Client) newWatchedLists() []*watchedList {
	lists := []*watchedList{{
		notification: mcp.NotificationToolListChanged,
		isDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Tools != nil && s.Tools.ListChanged
		},
		addTo:   func(w *mcp.SubscriptionFilter) { w.ToolsListChanged = true },
		refresh: refresh(c, "OnToolsChanged", mcp.KindTool, c.Tools, c.o.OnToolsChanged),
	}, {
		notification: mcp.NotificationResourceListChanged,
		isDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Resources != nil && s.Resources.ListChanged
		},
		addTo: func(w *mcp.SubscriptionFilter) { w.ResourcesListChanged = true },
		refresh: refresh(c, "OnResourcesChanged", mcp.KindResource, c.Resources,
			c.o.OnResourcesChanged),
	}, {
		notification: mcp.NotificationPromptListChanged,
		isDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Prompts != nil && s.Prompts.ListChanged
		},
		addTo: func(w *mcp.SubscriptionFilter) { w.PromptsListChanged = true },
		refresh: refresh(c, "OnPromptsChanged", mcp.KindPrompt, c.Prompts,
			c.o.OnPromptsChanged),
	}}
	lists = slices.DeleteFunc(lists, func(l *watchedList) bool { return l.refresh == nil })
	for _, l := range lists {
		l.changed = make(chan struct{}, 1)
		l.task.Start, l.task.Do = c.background, func() { c.refreshChanged(l) }
	}
	return lists
}

// refresh returns a function that fetches a list and passes it to f, or that only calls
// OnListChanged; nil without a callback.
func refresh[T any](c *Client, callback string, kind mcp.Kind,
	all func(context.Context, ...CallOption) iter.Seq2[T, error],
	f func([]T, error)) func(context.Context) {
	switch onChange := c.o.OnListChanged; {
	case f != nil:
		return func(ctx context.Context) {
			items, err := collect(all(ctx))
			if ctx.Err() == nil {
				c.runCallback(callback, func() { f(items, err) })
			}
		}
	case onChange != nil:
		return func(context.Context) { c.runCallback("OnListChanged", func() { onChange(kind) }) }
	}
	return nil
}

// collect returns all elements of a sequence, or its error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for element, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	return all, nil
}

// watchLists starts watching the lists. A legacy server announces changes by itself, a modern one
// after subscriptions/listen.
func (c *Client) watchLists() {
	s := c.session.Load()
	var filter mcp.SubscriptionFilter
	declared := false
	c.watching.Store(true)
	for _, l := range c.lists {
		if len(l.changed) > 0 { // since before
			l.task.Wake()
		}
		if l.isDeclared(&s.capabilities) {
			declared = true
			l.addTo(&filter)
		}
	}
	if s.features.Listen && (declared || c.updates != nil) {
		c.listen(filter, declared)
	}
}

// refreshChanged refreshes a list if it has changed. A server that registers a hundred tools sends
// a hundred notifications, so it waits until they pause. A change during a refresh causes another
// one.
func (c *Client) refreshChanged(l *watchedList) {
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
		case <-c.ctx.Done():
			return
		}
	}
	l.refresh(c.ctx)
}

const (
	maxUpdates     = 1024    // URIs that wait for OnResourceUpdated
	maxUpdateBytes = 1 << 20 // of all of them
)

// An updateQueue holds the URIs of changed resources, each once, until Options.OnResourceUpdated is
// called. When it is full, it only records that every resource may have changed.
type updateQueue struct {
	task ondemand.Task // empties the queue

	mu    sync.Mutex
	uris  []string
	seen  map[string]bool // the URIs in uris
	bytes int
	full  bool // every resource may have changed
}

// put handles notifications/resources/updated, on the reader's goroutine.
func (q *updateQueue) put(params []byte) {
	uri, ok := jsonscan.Text(jsonscan.Member(params, "uri"))
	if !ok {
		return
	}
	q.mu.Lock()
	if !q.full && !q.seen[uri] {
		q.uris = append(q.uris, uri)
		q.seen[uri] = true
		q.bytes += len(uri)
		if len(q.uris) > maxUpdates || q.bytes > maxUpdateBytes {
			q.clear()
			q.full = true
		}
	}
	q.mu.Unlock()
	q.task.Wake()
}

// all records that every resource may have changed.
func (q *updateQueue) all() {
	q.mu.Lock()
	q.clear()
	q.full = true
	q.mu.Unlock()
	q.task.Wake()
}

func (q *updateQueue) clear() {
	q.uris, q.bytes, q.full = nil, 0, false
	clear(q.seen)
}

// take empties the queue.
func (q *updateQueue) take() (uris []string, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	uris, full = q.uris, q.full
	q.clear()
	return uris, full
}

// deliverUpdates calls OnResourceUpdated for the URIs in the queue, unless the connection has
// ended.
func (c *Client) deliverUpdates() {
	uris, full := c.updates.take()
	if full {
		for uri := range c.listening.subscribed() {
			uris = append(uris, uri)
		}
		slices.Sort(uris)
	}
	for _, uri := range uris {
		if c.ctx.Err() != nil {
			return
		}
		c.runCallback("OnResourceUpdated", func() { c.o.OnResourceUpdated(uri) })
	}
}
