package server

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// changeNotification is something that clients want to hear of: a notification, and for some what it is about. What happens while a client does not read is told
// once.
type changeNotification struct {
	method  string
	subject string // the URI of a resource, the id of a task
}

// notifyChange tells every connection, now or when what is held back is let go.
func (s *Server) notifyChange(n changeNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deferrals > 0 && n.subject == "" { // a list
		s.deferred[n] = struct{}{}
		return
	}
	s.notifyConns(n)
}

// notifyConns tells every connection, without waiting for any. None of them is closed meanwhile. With mu.
func (s *Server) notifyConns(n changeNotification) {
	for c := range s.conns {
		c.notifyChange(n)
	}
}

// ResourceUpdated tells those clients who have subscribed to the resource that it has changed. It does not block.
func (s *Server) ResourceUpdated(uri string) {
	s.notifyChange(changeNotification{mcp.NotificationResourceUpdated, uri})
}

// notifyChange notes what a connection's client is to be told, if it wants to know.
func (c *Conn) notifyChange(n changeNotification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := c.wantsChange(n)
	for _, sub := range c.subscriptions {
		switch {
		case !sub.wants[n]:
		case sub.active:
			wanted = true
		case !slices.Contains(sub.missed, n):
			sub.missed = append(sub.missed, n)
		}
	}
	if wanted {
		c.queueChange(n)
	}
}

// wantsChange reports whether a legacy client is told. With mu.
func (c *Conn) wantsChange(n changeNotification) bool {
	return c.initialized.Load() && (n.subject == "" || c.subscribed[n.subject] || n.method == mcp.NotificationTaskStatus)
}

func (c *Conn) queueChange(n changeNotification) {
	if c.changes == nil {
		c.changes = map[changeNotification]struct{}{}
	}
	c.changes[n] = struct{}{}
	c.startSending()
}

// startSending has the pending news told, if nobody does yet. With mu.
func (c *Conn) startSending() {
	if !c.sending && len(c.changes) > 0 && (c.link != nil || len(c.subscriptions) > 0) && c.ctx.Err() == nil {
		c.sending = true
		c.goroutines.Go(c.sendChanges)
	}
}

// sendChanges tells the client what is pending, until nothing is.
func (c *Conn) sendChanges() {
	for {
		c.mu.Lock()
		pending := c.changes
		c.changes = nil
		if len(pending) == 0 {
			c.sending = false
			c.mu.Unlock()
			return
		}
		type message struct {
			link Link
			changeNotification
			meta rawJSON
		}
		var messages []message
		for n := range pending {
			if c.link != nil && c.wantsChange(n) {
				messages = append(messages, message{c.link, n, nil})
			}
			for _, sub := range c.subscriptions {
				if sub.active && sub.wants[n] {
					messages = append(messages, message{sub.link, n, sub.meta})
				}
			}
		}
		c.mu.Unlock()
		for _, m := range messages {
			if params, ok := c.server.changeParams(c.ctx, m.changeNotification, m.meta); ok {
				c.server.runCallback("what notifies a client", func() {
					// It fails only when the connection ends.
					_ = m.link.Notify(&connContext{c.ctx, c, nil}, m.method, params.orNil())
				})
			}
		}
		for _, m := range messages {
			c.server.runCallback("what notifies a client", func() { flush(c.ctx, m.link) }) // or news would pile up in the queue
		}
	}
}

// changeParams are the params of a notification; ok is false if there is nothing to tell any more. meta belongs to a subscription, or is nil.
func (s *Server) changeParams(ctx context.Context, n changeNotification, meta rawJSON) (params rawJSON, ok bool) {
	params = append(params, '{')
	switch n.method {
	case mcp.NotificationResourceUpdated:
		params = jsonscan.AppendString(append(params, `"uri":`...), n.subject)
	case mcp.NotificationTask, mcp.NotificationTaskStatus:
		if params = s.appendTask(ctx, params, n); len(params) == 1 {
			return nil, false
		}
	}
	switch {
	case meta == nil && len(params) == 1:
		return nil, true
	case meta == nil:
		return append(params, '}'), true
	case len(params) > 1:
		params = append(params, ',')
	}
	return append(append(append(params, `"_meta":`...), meta...), "}}"...), true
}

// deferListChanged is [Integration.DeferListChanged].
func (s *Server) deferListChanged() (release func()) {
	s.mu.Lock()
	s.deferrals++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.deferrals--; s.deferrals > 0 {
			return
		}
		for n := range s.deferred {
			s.notifyConns(n)
		}
		clear(s.deferred)
	})
}
