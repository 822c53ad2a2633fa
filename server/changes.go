package server

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
)

// notifyChange notifies all connections now, or later if list changes are deferred: see
// [Integration.DeferListChanged].
func (s *Server) notifyChange(n subscriptions.Change) {
	s.mu.Lock()
	if s.deferrals > 0 && n.Subject == "" { // a list
		s.deferred[n] = struct{}{}
		s.mu.Unlock()
		return
	}
	s.notifyConns(n)
	observers := s.changeObservers
	s.mu.Unlock()
	s.observeChanges(observers, n)
}

// observeChanges calls the functions of OnChange. The caller holds no lock.
func (s *Server) observeChanges(observers []*func(method, uri string),
	changes ...subscriptions.Change) {
	for _, n := range changes {
		if n.Subject != "" && n.Method != mcp.NotificationResourceUpdated {
			continue // of a task, which only this server has
		}
		for _, fn := range observers {
			s.runCallback("OnChange", func() { (*fn)(n.Method, n.Subject) })
		}
	}
}

// listChanged notifies all connections that a list has changed.
func (s *Server) listChanged(method string) { s.notifyChange(subscriptions.Change{Method: method}) }

// notifyConns queues the notification for the connections that may want it. It does not block. No
// connection closes meanwhile, because the caller holds mu.
func (s *Server) notifyConns(n subscriptions.Change) {
	if n.Method == mcp.NotificationResourceUpdated {
		for c := range s.watchers[n.Subject] {
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
	s.notifyChange(subscriptions.Change{Method: mcp.NotificationResourceUpdated, Subject: uri})
}

// notifyChange queues a notification, if the client or one of its subscriptions wants it.
func (c *Conn) notifyChange(n subscriptions.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.Note(n, c.initialized.Load())
	c.startSending()
}

// startSending starts a goroutine that sends the queued notifications, unless one runs. The caller
// holds mu.
func (c *Conn) startSending() {
	if !c.sending && c.told.Waits() && (c.link != nil || c.told.Len() > 0) &&
		c.ctx.Err() == nil {
		c.sending = true
		c.goroutines.Go(c.sendChanges)
	}
}

// sendChanges sends queued notifications until the queue is empty.
func (c *Conn) sendChanges() {
	for {
		c.mu.Lock()
		if !c.told.Waits() {
			c.sending = false
			c.mu.Unlock()
			return
		}
		var link Link
		if c.initialized.Load() {
			link = c.link
		}
		messages := c.told.Take(link)
		c.mu.Unlock()
		for _, m := range messages {
			if !c.maySeeChange(m.Change) {
				continue
			}
			if params, ok := c.server.changeParams(c.ctx, m.Change, m.Meta); ok {
				c.server.runCallback("Link.Notify", func() {
					// fails only when the connection ends
					_ = m.Link.Notify(&connContext{c.ctx, c, nil}, m.Method, params.OrNil())
				})
			}
		}
		for _, m := range messages {
			// otherwise notifications fill the queue of the link
			c.server.runCallback("Link.Notify", func() { outgoing.Flush(c.ctx, m.Link) })
		}
	}
}

// notificationKey is the key of the context of a notification that belongs to no request.
type notificationKey struct{}

// maySeeChange reports whether the client may still see the subject of a change.
func (c *Conn) maySeeChange(n subscriptions.Change) bool {
	s := c.server
	if s.o.Visible == nil {
		return true
	}
	kind, key := mcp.KindResource, n.Subject
	switch n.Method {
	case mcp.NotificationResourceUpdated:
	case mcp.NotificationTask, mcp.NotificationTaskStatus:
		_, record, err := s.tasks.Find(c.ctx, n.Subject)
		if err != nil || record == nil || record.Tool == "" {
			return true // there is nothing to tell, or nothing to hide
		}
		kind, key = mcp.KindTool, record.Tool
	default:
		return true
	}
	c.mu.Lock()
	ctx := c.viewer
	c.mu.Unlock()
	if ctx == nil {
		ctx = c.ctx
	} else {
		ctx = context.WithoutCancel(ctx)
	}
	visible := false
	s.runCallback("Visible", func() {
		viewer := context.WithValue(&connContext{ctx, c, nil}, notificationKey{}, true)
		if kind == mcp.KindTool {
			visible = s.showsTasksOf(viewer, key)
			return
		}
		visible = s.o.Visible(viewer, kind, key)
	})
	return visible
}

// changeParams returns the params of a notification. meta is the _meta of a subscription, or nil.
// ok is false if its subject no longer exists.
func (s *Server) changeParams(ctx context.Context, n subscriptions.Change,
	meta outgoing.Params) (params outgoing.Params, ok bool) {
	params = append(params, '{')
	switch n.Method {
	case mcp.NotificationResourceUpdated:
		params = jsonscan.AppendString(append(params, `"uri":`...), n.Subject)
	case mcp.NotificationTask, mcp.NotificationTaskStatus:
		if params = s.tasks.appendTask(ctx, params, n); len(params) == 1 {
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

// DeferListChanged defers list_changed notifications until release is called, so that related
// changes are announced once. Lists show each change at once. If several callers defer at the same
// time, the last release sends the notifications. DeferListChanged does not block, and release may
// be called more than once.
func (i Integration) DeferListChanged() (release func()) {
	s := i.s
	s.mu.Lock()
	s.deferrals++
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		var changes []subscriptions.Change
		if s.deferrals--; s.deferrals == 0 {
			for n := range s.deferred {
				s.notifyConns(n)
				changes = append(changes, n)
			}
			clear(s.deferred)
		}
		observers := s.changeObservers
		s.mu.Unlock()
		s.observeChanges(observers, changes...)
	})
}

// ListsChanged notifies clients that the lists of these kinds, or all lists if there is none, may
// have changed: what they may see, or how they see it (see [Options].ToolView). concerned says
// which clients, by principal and the name in clientInfo; nil means all. It may be called several
// times for a client.
func (i Integration) ListsChanged(concerned func(principal, client string) bool,
	kinds ...mcp.Kind) {
	if concerned == nil {
		defer i.DeferListChanged()()
		for method := range i.s.listChangedMethods(kinds) {
			i.s.listChanged(method)
		}
		return
	}
	i.s.mu.Lock()
	conns := slices.Collect(maps.Keys(i.s.conns))
	i.s.mu.Unlock()
	var tell []*Conn
	for len(conns) > 0 { // again after a panic, which leaves out one connection
		i.s.runCallback("ListsChanged", func() {
			for len(conns) > 0 {
				c := conns[0]
				conns = conns[1:]
				if c.isConcerned(concerned) {
					tell = append(tell, c)
				}
			}
		})
	}
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	for method := range i.s.listChangedMethods(kinds) {
		for _, c := range tell {
			if _, open := i.s.conns[c]; open {
				c.notifyChange(subscriptions.Change{Method: method})
			}
		}
	}
}

// isConcerned reports whether concerned is true for a client of the connection that may be told of
// changes.
func (c *Conn) isConcerned(concerned func(principal, client string) bool) bool {
	c.mu.Lock()
	names := c.told.Names()
	if c.initialized.Load() {
		names = append(names, era.Legacy(c.legacy.Load()).Client.Name)
	}
	c.mu.Unlock()
	return slices.ContainsFunc(names,
		func(name string) bool { return concerned(c.principal, name) })
}

// listChangedMethods yields the notifications of changes of the lists of these kinds that the
// server has, or of all.
func (s *Server) listChangedMethods(kinds []mcp.Kind) iter.Seq[string] {
	return func(yield func(method string) bool) {
		for kind := range s.added {
			method := kind.Info().ListChanged
			if method != "" && (len(kinds) == 0 || slices.Contains(kinds, kind)) &&
				(s.added[kind].EverUsed.Load() || kind == mcp.KindTool) && !yield(method) {
				return
			}
		}
	}
}

// OnChange calls fn after the server has told its clients of a change of a list or resource of its
// own: with the method of the notification and the URI of the resource, or "". What has changed it
// waits for fn. After stop has returned, fn is not called again, but a call in progress may still
// run.
func (i Integration) OnChange(fn func(method, uri string)) (stop func()) {
	s := i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &fn
	s.changeObservers = append(slices.Clip(s.changeObservers), own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changeObservers = slices.DeleteFunc(slices.Clone(s.changeObservers),
			func(other *func(method, uri string)) bool { return other == own })
	}
}

// Announce tells clients of a change that [Integration.OnChange] has reported of another server
// which offers the same: all clients, or only that of c. The method "" says that all lists and
// resources may have changed. It does not block.
func (i Integration) Announce(c *Conn, method, uri string) {
	s := i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := []subscriptions.Change{{Method: method, Subject: uri}}
	if method == "" {
		changes = changes[:0]
		for list := range s.listChangedMethods(nil) {
			changes = append(changes, subscriptions.Change{Method: list})
		}
		updated := func(uri string) {
			changes = append(changes, subscriptions.Change{
				Method: mcp.NotificationResourceUpdated, Subject: uri})
		}
		if c == nil {
			for uri := range s.watchers {
				updated(uri)
			}
		} else {
			c.mu.Lock()
			for uri := range c.told.URIs {
				updated(uri)
			}
			c.mu.Unlock()
		}
	}
	for _, n := range changes {
		if c == nil {
			s.notifyConns(n)
		} else if _, open := s.conns[c]; open {
			c.notifyChange(n)
		}
	}
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
