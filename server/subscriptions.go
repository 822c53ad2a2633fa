package server

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
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

// A subscription is an open subscriptions/listen.
type subscription struct {
	id     rpc.ID
	link   Link
	meta   rawJSON // of its notifications, but for the brace that ends it
	wants  map[changeNotification]bool
	active bool                 // it was acknowledged
	missed []changeNotification // before that
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

// listen answers subscriptions/listen when the subscription ends: it is open as long as the request is (2026-07-28,
// basic/patterns/subscriptions). Subscriptions are a connection's own, by the id of the request that opened them.
func listen(r *request) (any, error) {
	c := r.conn
	raw := jsonscan.Member(r.Params, "notifications")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications must be there and an object")
	}
	var filter mcp.SubscriptionFilter
	if err := mcp.Unmarshal(raw, &filter); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications: %v", err)
	}
	sub := &subscription{id: r.ID, link: r.link, meta: rawJSON(`{"` + mcp.MetaSubscriptionID + `":` + r.ID.String())}
	accepted, err := c.server.accept(r, sub, &filter)
	if err != nil {
		return nil, err
	}
	if !c.addSubscription(sub) {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d subscriptions are open already; cancel one first", c.server.o.MaxSubscriptions)
	}
	defer c.server.subscriptionsChanged()
	defer c.removeSubscription(sub)
	c.server.subscriptionsChanged()
	r.Detach()

	// The acknowledgment comes first; what changes while it is being sent is told behind it.
	params := rawJSON(`{"notifications":` + string(accepted) + `,"_meta":` + string(sub.meta) + `}}`)
	ctx, cancel := r.readable()
	defer cancel()
	if err := r.link.Notify(ctx, mcp.NotificationSubscriptionsAcknowledged, params); err != nil {
		return nil, err
	}
	c.activateSubscription(sub)
	select {
	case <-r.Done():
	case <-c.closing:
	}
	cause := context.Cause(r)
	if errors.Is(cause, rpc.ErrCancelled) || cause != nil && !errors.Is(cause, io.EOF) && !c.isFinishing() {
		return nil, cause // the client has cancelled it, or is gone
	}
	// The specification has both: basic/patterns/cancellation wants this notification, subscriptions the result.
	_ = r.link.Notify(ctx, mcp.NotificationCancelled, rawJSON(`{"requestId":`+r.ID.String()+`,"reason":"the server is shutting down"}`))
	result := append([]byte(`{"resultType":"complete","_meta":`), sub.meta...)
	return rawJSON(append(append(append(result, `,"`+mcp.MetaServerInfo+`":`...), c.server.info...), "}}"...)), nil
}

// readable returns a context that ends with the request, unless that ends because the client has
// closed its end of the stream: such a client may still read what it is owed.
func (r *request) readable() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r))
	stop := context.AfterFunc(r, func() {
		if cause := context.Cause(r); !errors.Is(cause, io.EOF) {
			cancel(cause)
		}
	})
	return ctx, func() { stop(); cancel(nil) }
}

// accept settles what a subscription gets of what it asks for: what the server has, and the client may see.
func (s *Server) accept(r *request, sub *subscription, filter *mcp.SubscriptionFilter) (accepted rawJSON, err error) {
	has := s.declaredKinds()
	got := mcp.SubscriptionFilter{
		ToolsListChanged:     filter.ToolsListChanged && has.tools,
		PromptsListChanged:   filter.PromptsListChanged && has.prompts,
		ResourcesListChanged: filter.ResourcesListChanged && has.resources,
	}
	if len(filter.ResourceSubscriptions)+len(filter.TaskIDs) > s.o.MaxWatched {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: more than %d resources and tasks in one subscription", s.o.MaxWatched)
	}
	sub.wants = map[changeNotification]bool{
		{method: mcp.NotificationToolListChanged}:     got.ToolsListChanged,
		{method: mcp.NotificationPromptListChanged}:   got.PromptsListChanged,
		{method: mcp.NotificationResourceListChanged}: got.ResourcesListChanged,
	}
	for _, uri := range filter.ResourceSubscriptions {
		if has.resources && s.visible(r, KindResource, uri) {
			sub.wants[changeNotification{mcp.NotificationResourceUpdated, uri}] = true
			got.ResourceSubscriptions = append(got.ResourceSubscriptions, uri)
		}
	}
	if filter.TaskIDs != nil && has.tasks {
		if got.TaskIDs, err = s.acceptTasks(r, sub, filter.TaskIDs); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(got)
}

func (c *Conn) addSubscription(sub *subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscriptions) >= c.server.o.MaxSubscriptions {
		return false
	}
	if c.subscriptions == nil {
		c.subscriptions = map[rpc.ID]*subscription{}
	}
	c.subscriptions[sub.id] = sub
	return true
}

func (c *Conn) activateSubscription(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub.active = true
	for _, n := range sub.missed {
		c.queueChange(n)
	}
	sub.missed = nil
}

func (c *Conn) removeSubscription(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscriptions, sub.id)
}

// subscribe and unwatch answer the legacy resources/subscribe and resources/unsubscribe (2025-11-25, server/resources, Subscriptions).
func subscribe(r *request) (any, error) {
	if r.era.replicated {
		return nil, errReplicated
	}
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	if _, err := r.conn.server.findResource(r, uri); err != nil {
		return nil, err
	}
	c := r.conn
	defer c.server.subscriptionsChanged()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscribed) >= c.server.o.MaxWatched && !c.subscribed[uri] {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d resources are subscribed to already; unsubscribe from one first", len(c.subscribed))
	}
	if c.subscribed == nil {
		c.subscribed, c.subscribedMemory = map[string]bool{}, c.server.o.Memory.Open(r.quotaOwner())
	}
	if !c.subscribed[uri] && c.subscribedMemory.Resize(c.subscribedMemory.Held()+int64(len(uri))) != nil {
		return nil, rpc.Errorf(rpc.CodeBusy, "There is no room for another subscription; unsubscribe from a resource, or try again later")
	}
	c.subscribed[uri] = true
	return rawJSON(`{}`), nil
}

func unsubscribe(r *request) (any, error) {
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	defer r.conn.server.subscriptionsChanged()
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if c := r.conn; c.subscribed[uri] {
		delete(c.subscribed, uri)
		_ = c.subscribedMemory.Resize(c.subscribedMemory.Held() - int64(len(uri))) // less is never refused
	}
	return rawJSON(`{}`), nil
}
