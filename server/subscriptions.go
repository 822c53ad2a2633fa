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

// news is something that clients want to hear of: a notification, and for some what it is about. What happens while a client does not read is told
// once.
type news struct {
	method string
	about  string // the URI of a resource, the id of a task
}

// announce tells every connection, now or when what is held back is let go.
func (s *Server) announce(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds > 0 && n.about == "" { // a list
		s.held[n] = struct{}{}
		return
	}
	s.tellAll(n)
}

// tellAll tells every connection, without waiting for any. None of them is closed meanwhile. With mu.
func (s *Server) tellAll(n news) {
	for c := range s.conns {
		c.hear(n)
	}
}

// ResourceUpdated tells those clients who have subscribed to the resource that it has changed. It does not block.
func (s *Server) ResourceUpdated(uri string) {
	s.announce(news{mcp.NotificationResourceUpdated, uri})
}

// A subscription is an open subscriptions/listen.
type subscription struct {
	id     rpc.ID
	link   Link
	meta   encoded // of its notifications, but for the brace that ends it
	wants  map[news]bool
	active bool   // it was acknowledged
	missed []news // before that
}

// hear notes what a connection's client is to be told, if it wants to know.
func (c *Conn) hear(n news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := c.hears(n)
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
		c.note(n)
	}
}

// hears reports whether a legacy client is told. With mu.
func (c *Conn) hears(n news) bool {
	return c.open.Load() && (n.about == "" || c.watched[n.about] || n.method == mcp.NotificationTaskStatus)
}

func (c *Conn) note(n news) {
	if c.pending == nil {
		c.pending = map[news]struct{}{}
	}
	c.pending[n] = struct{}{}
	c.kick()
}

// kick has the pending news told, if nobody does yet. With mu.
func (c *Conn) kick() {
	if !c.telling && len(c.pending) > 0 && (c.link != nil || len(c.subscriptions) > 0) && c.ctx.Err() == nil {
		c.telling = true
		c.goroutines.Go(c.tell)
	}
}

// tell tells the client what is pending, until nothing is.
func (c *Conn) tell() {
	for {
		c.mu.Lock()
		pending := c.pending
		c.pending = nil
		if len(pending) == 0 {
			c.telling = false
			c.mu.Unlock()
			return
		}
		type message struct {
			link Link
			news
			meta encoded
		}
		var messages []message
		for n := range pending {
			if c.link != nil && c.hears(n) {
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
			if params, ok := c.server.newsParams(c.ctx, m.news, m.meta); ok {
				c.server.run("what notifies a client", func() {
					// It fails only when the connection ends.
					_ = m.link.Notify(&origin{c.ctx, c, nil}, m.method, params.orNil())
				})
			}
		}
		for _, m := range messages {
			c.server.run("what notifies a client", func() { flush(c.ctx, m.link) }) // or news would pile up in the queue
		}
	}
}

// newsParams are the params of a notification; ok is false if there is nothing to tell any more. meta belongs to a subscription, or is nil.
func (s *Server) newsParams(ctx context.Context, n news, meta encoded) (params encoded, ok bool) {
	params = append(params, '{')
	switch n.method {
	case mcp.NotificationResourceUpdated:
		params = jsonscan.AppendString(append(params, `"uri":`...), n.about)
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
	sub := &subscription{id: r.ID, link: r.link, meta: encoded(`{"` + mcp.MetaSubscriptionID + `":` + r.ID.String())}
	accepted, err := c.server.accept(r, sub, &filter)
	if err != nil {
		return nil, err
	}
	if !c.reserve(sub) {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d subscriptions are open already; cancel one first", c.server.o.MaxSubscriptions)
	}
	defer c.server.watchedChanged()
	defer c.unsubscribe(sub)
	c.server.watchedChanged()
	r.Detach()

	// The acknowledgment comes first; what changes while it is being sent is told behind it.
	params := encoded(`{"notifications":` + string(accepted) + `,"_meta":` + string(sub.meta) + `}}`)
	ctx, cancel := r.readable()
	defer cancel()
	if err := r.link.Notify(ctx, mcp.NotificationSubscriptionsAcknowledged, params); err != nil {
		return nil, err
	}
	c.activate(sub)
	select {
	case <-r.Done():
	case <-c.closing:
	}
	cause := context.Cause(r)
	if errors.Is(cause, rpc.ErrCancelled) || cause != nil && !errors.Is(cause, io.EOF) && !c.finishing() {
		return nil, cause // the client has cancelled it, or is gone
	}
	// The specification has both: basic/patterns/cancellation wants this notification, subscriptions the result.
	_ = r.link.Notify(ctx, mcp.NotificationCancelled, encoded(`{"requestId":`+r.ID.String()+`,"reason":"the server is shutting down"}`))
	result := append([]byte(`{"resultType":"complete","_meta":`), sub.meta...)
	return encoded(append(append(append(result, `,"`+mcp.MetaServerInfo+`":`...), c.server.info...), "}}"...)), nil
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
func (s *Server) accept(r *request, sub *subscription, filter *mcp.SubscriptionFilter) (accepted encoded, err error) {
	has := s.offers()
	got := mcp.SubscriptionFilter{
		ToolsListChanged:     filter.ToolsListChanged && has.tools,
		PromptsListChanged:   filter.PromptsListChanged && has.prompts,
		ResourcesListChanged: filter.ResourcesListChanged && has.resources,
	}
	if len(filter.ResourceSubscriptions)+len(filter.TaskIDs) > s.o.MaxWatched {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: more than %d resources and tasks in one subscription", s.o.MaxWatched)
	}
	sub.wants = map[news]bool{
		{method: mcp.NotificationToolListChanged}:     got.ToolsListChanged,
		{method: mcp.NotificationPromptListChanged}:   got.PromptsListChanged,
		{method: mcp.NotificationResourceListChanged}: got.ResourcesListChanged,
	}
	for _, uri := range filter.ResourceSubscriptions {
		if has.resources && s.visible(r, KindResource, uri) {
			sub.wants[news{mcp.NotificationResourceUpdated, uri}] = true
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

func (c *Conn) reserve(sub *subscription) bool {
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

func (c *Conn) activate(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub.active = true
	for _, n := range sub.missed {
		c.note(n)
	}
	sub.missed = nil
}

func (c *Conn) unsubscribe(sub *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscriptions, sub.id)
}

// watch and unwatch answer the legacy resources/subscribe and resources/unsubscribe (2025-11-25, server/resources, Subscriptions).
func watch(r *request) (any, error) {
	if r.era.portable {
		return nil, errNotPortable
	}
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	if _, err := r.conn.server.findResource(r, uri); err != nil {
		return nil, err
	}
	c := r.conn
	defer c.server.watchedChanged()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watched) >= c.server.o.MaxWatched && !c.watched[uri] {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d resources are subscribed to already; unsubscribe from one first", len(c.watched))
	}
	if c.watched == nil {
		c.watched, c.memory = map[string]bool{}, c.server.o.Memory.Open(r.holder())
	}
	if !c.watched[uri] && c.memory.Resize(c.memory.Held()+int64(len(uri))) != nil {
		return nil, rpc.Errorf(rpc.CodeBusy, "There is no room for another subscription; unsubscribe from a resource, or try again later")
	}
	c.watched[uri] = true
	return encoded(`{}`), nil
}

func unwatch(r *request) (any, error) {
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	defer r.conn.server.watchedChanged()
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if c := r.conn; c.watched[uri] {
		delete(c.watched, uri)
		_ = c.memory.Resize(c.memory.Held() - int64(len(uri))) // less is never refused
	}
	return encoded(`{}`), nil
}
