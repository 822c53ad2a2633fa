package server

import (
	"context"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// A changeNotification is a notification about a change. Equal notifications that wait for the same
// client are sent once.
type changeNotification struct {
	method  string
	subject string // the URI of a resource or the ID of a task; "" for a list
}

// notifyChange notifies all connections now, or later if list changes are deferred: see
// [Integration.DeferListChanged].
func (s *Server) notifyChange(n changeNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deferrals > 0 && n.subject == "" { // a list
		s.deferred[n] = struct{}{}
		return
	}
	s.notifyConns(n)
}

// notifyConns queues the notification for the connections that may want it. It does not block. No
// connection closes meanwhile, because the caller holds mu.
func (s *Server) notifyConns(n changeNotification) {
	if n.method == mcp.NotificationResourceUpdated {
		for c := range s.watchers[n.subject] {
			c.notifyChange(n)
		}
		return
	}
	for c := range s.conns {
		c.notifyChange(n)
	}
}

// ResourceUpdated sends notifications/resources/updated to the clients that are subscribed to the
// resource. It does not block.
func (s *Server) ResourceUpdated(uri string) {
	s.notifyChange(changeNotification{mcp.NotificationResourceUpdated, uri})
}

// notifyChange queues a notification for the client and its subscriptions that want it.
func (c *Conn) notifyChange(n changeNotification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := c.wantsChange(n)
	for _, sub := range c.subscriptionsTo(n) {
		switch {
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

// wantsChange reports whether a legacy client gets a notification. The caller holds mu.
func (c *Conn) wantsChange(n changeNotification) bool {
	return c.initialized.Load() &&
		(n.subject == "" || c.subscribed[n.subject] || n.method == mcp.NotificationTaskStatus)
}

// queueChange queues a notification. The caller holds mu.
func (c *Conn) queueChange(n changeNotification) {
	if c.changes == nil {
		c.changes = map[changeNotification]struct{}{}
	}
	c.changes[n] = struct{}{}
	c.startSending()
}

// startSending starts a goroutine that sends the queued notifications, unless one runs. The caller
// holds mu.
func (c *Conn) startSending() {
	if !c.sending && len(c.changes) > 0 && (c.link != nil || len(c.subscriptions) > 0) &&
		c.ctx.Err() == nil {
		c.sending = true
		c.goroutines.Go(c.sendChanges)
	}
}

// sendChanges sends queued notifications until the queue is empty.
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
			meta outgoing.Params
		}
		var messages []message
		for n := range pending {
			if c.link != nil && c.wantsChange(n) {
				messages = append(messages, message{c.link, n, nil})
			}
			for _, sub := range c.subscriptionsTo(n) {
				if sub.active {
					messages = append(messages, message{sub.link, n, sub.meta})
				}
			}
		}
		c.mu.Unlock()
		for _, m := range messages {
			if params, ok := c.server.changeParams(c.ctx, m.changeNotification, m.meta); ok {
				c.server.runCallback("Link.Notify", func() {
					// fails only when the connection ends
					_ = m.link.Notify(&connContext{c.ctx, c, nil}, m.method, params.OrNil())
				})
			}
		}
		for _, m := range messages {
			// otherwise notifications fill the queue of the link
			c.server.runCallback("Link.Notify", func() { outgoing.Flush(c.ctx, m.link) })
		}
	}
}

// changeParams returns the params of a notification. meta is the _meta of a subscription, or nil.
// ok is false if its subject no longer exists.
func (s *Server) changeParams(ctx context.Context, n changeNotification,
	meta outgoing.Params) (params outgoing.Params, ok bool) {
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

// deferListChanged implements [Integration.DeferListChanged].
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

// NotifyAll sends a notification of any method to each legacy client whose handshake is done.
// Modern clients get only the notifications that they subscribe to. Params must encode as a JSON
// object; nil means no params. ResourceUpdated, the methods that add and remove items, and the
// function [Log] send the notifications that MCP defines for servers.
//
// NotifyAll blocks until the notification is queued for each client, or ctx ends; it ends early for
// a client that disconnects. A client that does not read delays no other one. The error is that of
// ctx, or says that the params cannot be encoded.
func (s *Server) NotifyAll(ctx context.Context, method string, params any) error {
	encoded, err := outgoing.Encode(params)
	if err == nil {
		_, err = rpc.AppendRequest(nil, rpc.ID{}, method, outgoing.Params(encoded).OrNil())
	}
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	s.mu.Lock()
	for c := range s.conns {
		if link := c.unsolicitedLink(); link != nil && c.initialized.Load() {
			sending.Go(func() {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(c.ctx, cancel)()
				s.runCallback("Link.Notify", func() {
					_ = link.Notify(&connContext{ctx, c, nil}, method,
						outgoing.Params(encoded).OrNil())
				})
			})
		}
	}
	s.mu.Unlock()
	sending.Wait()
	return ctx.Err()
}
