package client

import (
	"context"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/client/internal/changes"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// newWatchedLists returns the lists whose changes the application has callbacks for.
func (c *Client) newWatchedLists() []*changes.List {
	return changes.NewLists(c.ctx, c.background, &changes.List{
		Notification: mcp.NotificationToolListChanged,
		IsDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Tools != nil && s.Tools.ListChanged
		},
		AddTo:   func(w *mcp.SubscriptionFilter) { w.ToolsListChanged = true },
		Refresh: refresh(c, "OnToolsChanged", mcp.KindTool, c.Tools, c.o.OnToolsChanged),
	}, &changes.List{
		Notification: mcp.NotificationResourceListChanged,
		IsDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Resources != nil && s.Resources.ListChanged
		},
		AddTo: func(w *mcp.SubscriptionFilter) { w.ResourcesListChanged = true },
		Refresh: refresh(c, "OnResourcesChanged", mcp.KindResource, c.Resources,
			c.o.OnResourcesChanged),
	}, &changes.List{
		Notification: mcp.NotificationPromptListChanged,
		IsDeclared: func(s *mcp.ServerCapabilities) bool {
			return s.Prompts != nil && s.Prompts.ListChanged
		},
		AddTo: func(w *mcp.SubscriptionFilter) { w.PromptsListChanged = true },
		Refresh: refresh(c, "OnPromptsChanged", mcp.KindPrompt, c.Prompts,
			c.o.OnPromptsChanged),
	})
}

// refresh returns a function that fetches a list and passes it to f, or that only calls
// OnListChanged; nil without a callback.
func refresh[T any](c *Client, callback string, kind mcp.Kind,
	all func(context.Context, ...CallOption) iter.Seq2[T, error],
	f func([]T, error)) func(context.Context) {
	switch onChange := c.o.OnListChanged; {
	case f != nil:
		return func(ctx context.Context) {
			items, err := All(all(ctx))
			if err != nil {
				items = nil
			}
			if ctx.Err() == nil {
				c.runCallback(callback, func() { f(items, err) })
			}
		}
	case onChange != nil:
		return func(context.Context) { c.runCallback("OnListChanged", func() { onChange(kind) }) }
	}
	return nil
}

// watch starts watching the lists. A legacy server announces changes by itself, a modern one after
// subscriptions/listen.
func (c *Client) watch() {
	s := c.session.Load()
	var filter mcp.SubscriptionFilter
	declared := false
	for _, l := range c.lists {
		l.Watch()
		if l.IsDeclared(&s.capabilities) {
			declared = true
			l.AddTo(&filter)
		}
	}
	if s.features.Listen && (declared || c.updates != nil) {
		c.listen(filter, declared)
	}
}

// deliverUpdates calls OnResourceUpdated for the URIs in the queue, unless the connection has
// ended.
func (c *Client) deliverUpdates() {
	uris, full := c.updates.Take()
	if full {
		for uri := range c.listening.Subscribed() {
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
