package client

import (
	"context"
	"iter"
	"slices"
	"time"

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
}

func (l *watchedList) markChanged() {
	select {
	case l.changed <- struct{}{}:
	default:
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
	for _, l := range c.lists {
		c.wg.Go(func() { c.watchList(l) })
		if l.isDeclared(&s.capabilities) {
			declared = true
			l.addTo(&filter)
		}
	}
	if s.features.Listen && (declared || c.updates != nil) {
		c.listen(filter, declared)
	}
}

// watchList refreshes a list when it has changed. A server that registers a hundred tools sends a
// hundred notifications, so it waits until they pause. A change during a refresh causes another
// one.
func (c *Client) watchList(l *watchedList) {
	for {
		select {
		case <-l.changed:
		case <-c.ctx.Done():
			return
		}
		calm, enough := time.NewTimer(debounceDelay), time.NewTimer(maxDebounceDelay)
		for settled := false; !settled; {
			select {
			case <-l.changed:
				calm.Reset(debounceDelay)
			case <-calm.C:
				settled = true
			case <-enough.C:
				settled = true
			case <-c.ctx.Done():
				settled = true
			}
		}
		calm.Stop()
		enough.Stop()
		if c.ctx.Err() != nil {
			return
		}
		l.refresh(c.ctx)
	}
}
