package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/subscriptions"
)

// listen answers subscriptions/listen. It blocks until the subscription ends (2026-07-28,
// basic/patterns/subscriptions). A subscription belongs to its connection and is identified by the
// ID of its request.
func listen(r *request) (*Result, error) {
	c := r.conn
	sub, accepted, err := r.subscribe()
	if err != nil {
		return nil, err
	}
	defer sub.Watched.Close()
	defer c.removeSubscription(sub)
	r.Detach()
	// the acknowledgment is the first message; changes that happen meanwhile are sent after it
	ctx, cancel := r.readable()
	err = r.link.Notify(ctx, mcp.NotificationSubscriptionsAcknowledged, outgoing.Params(
		`{"notifications":`+string(accepted)+`,"_meta":`+string(sub.Meta)+`}}`))
	if cancel(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.told.Acknowledged(sub)
	c.startSending()
	c.mu.Unlock()
	select {
	case <-r.Done():
	case <-c.closing:
	}
	return r.endSubscription(sub)
}

// subscribe adds the subscription that the request asks for to the connection, and returns the part
// of its filter that the server has accepted.
func (r *request) subscribe() (_ *subscriptions.Subscription, accepted outgoing.Params,
	err error) {
	c := r.conn
	raw := jsonscan.Member(r.Params, "notifications")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: notifications is required and must be an object")
	}
	var filter mcp.SubscriptionFilter
	if err := mcp.Unmarshal(raw, &filter); err != nil {
		return nil, nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications: %v", err)
	}
	// released with the memory of the request; the ID is kept twice
	if r.account().Take(2*countedBytes(len(r.ID.String()))) != nil {
		return nil, nil, subscriptions.ErrNoRoom
	}
	sub := &subscriptions.Subscription{Link: r.link, Client: r.clientInfo().Name,
		Watched: (*quota.Pool)(c.server.o.Watched).Open(r.quotaOwner()),
		Meta:    outgoing.Params(`{"` + mcp.MetaSubscriptionID + `":` + r.ID.String())}
	added := false
	defer func() {
		if !added {
			sub.Watched.Close()
		}
	}()
	if accepted, err = c.server.accept(r, sub, &filter); err != nil {
		return nil, nil, err
	}
	size := int64(0)
	for _, uri := range sub.URIs {
		size += subscriptions.Size(uri)
	}
	if r.account().Take(size) != nil {
		return nil, nil, subscriptions.ErrNoRoom
	}
	if added = c.addSubscription(r, sub); !added {
		return nil, nil, rpc.Errorf(rpc.CodeBusy,
			"%d subscriptions are open already; cancel one first", c.server.o.MaxSubscriptions)
	}
	c.server.subscriptionsChanged()
	return sub, accepted, nil
}

// endSubscription sends the notification that ends a subscription, and returns its result.
func (r *request) endSubscription(sub *subscriptions.Subscription) (*Result, error) {
	c := r.conn
	cause := context.Cause(r)
	if errors.Is(cause, rpc.ErrCancelled) || cause != nil && !errors.Is(cause, io.EOF) &&
		!c.isFinishing() {
		return nil, cause // the client has cancelled the subscription or disconnected
	}
	ctx, cancel := r.readable()
	defer cancel()
	// The specification requires this notification (basic/patterns/cancellation) and the result
	// (basic/patterns/subscriptions).
	_ = r.link.Notify(ctx, mcp.NotificationCancelled,
		outgoing.Params(`{"requestId":`+r.ID.String()+`,"reason":"the server is shutting down"}`))
	result := append([]byte(`{"resultType":"complete","_meta":`), sub.Meta...)
	result = append(append(result, `,"`+mcp.MetaServerInfo+`":`...), c.server.results.Info...)
	return NewResult(append(result, "}}"...)), nil
}

// readable returns a context that ends with the request. It does not end if the client has only
// closed its end of the stream, because the client may still read.
func (r *request) readable() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r))
	stop := context.AfterFunc(r, func() {
		if cause := context.Cause(r); !errors.Is(cause, io.EOF) {
			cancel(cause)
		}
	})
	return ctx, func() { stop(); cancel(nil) }
}

// accept adds the part of a filter that the server supports and the client may see to the
// subscription, and returns this part.
func (s *Server) accept(r *request, sub *subscriptions.Subscription,
	filter *mcp.SubscriptionFilter) (accepted outgoing.Params, err error) {
	has := s.declaredKinds()
	got := mcp.SubscriptionFilter{
		ToolsListChanged:     filter.ToolsListChanged && has.tools,
		PromptsListChanged:   filter.PromptsListChanged && has.prompts,
		ResourcesListChanged: filter.ResourcesListChanged && has.resources,
	}
	if len(filter.ResourceSubscriptions)+len(filter.TaskIDs) > s.o.MaxWatched {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: more than %d resources and tasks in one subscription", s.o.MaxWatched)
	}
	if got.ToolsListChanged {
		sub.Lists = append(sub.Lists, mcp.NotificationToolListChanged)
	}
	if got.PromptsListChanged {
		sub.Lists = append(sub.Lists, mcp.NotificationPromptListChanged)
	}
	if got.ResourcesListChanged {
		sub.Lists = append(sub.Lists, mcp.NotificationResourceListChanged)
	}
	for _, uri := range unique(filter.ResourceSubscriptions) {
		if err := subscriptions.Watch(sub.Watched, uri); err != nil {
			return nil, err
		}
		if has.resources && s.visible(r, mcp.KindResource, uri) {
			sub.Subjects = append(sub.Subjects,
				subscriptions.Change{Method: mcp.NotificationResourceUpdated, Subject: uri})
			sub.URIs = append(sub.URIs, uri)
		}
	}
	got.ResourceSubscriptions = sub.URIs
	if filter.TaskIDs != nil && has.tasks {
		if got.TaskIDs, err = s.acceptTasks(r, sub, filter.TaskIDs); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(got)
}

// acceptTasks adds the requested tasks of the client to a subscription and returns their ids. It
// also queues notifications of their current states, because a task may have ended just before.
func (s *Server) acceptTasks(r *request, sub *subscriptions.Subscription,
	ids []string) (accepted []string, err error) {
	if !r.negotiated(mcp.ExtensionTasks) {
		return nil, errNeedsTasks()
	}
	for _, id := range unique(ids) {
		_, record, err := s.tasks.Find(r, id)
		if err != nil {
			return nil, r.taskStoreError(err)
		}
		if !r.maySeeTask(record) {
			continue
		}
		n := subscriptions.Change{Method: mcp.NotificationTask, Subject: id}
		sub.Subjects = append(sub.Subjects, n)
		sub.Missed = append(sub.Missed, n)
		accepted = append(accepted, id)
	}
	return accepted, nil
}

// unique returns the first occurrence of each string.
func unique(all []string) (first []string) {
	seen := make(map[string]bool, len(all))
	for _, text := range all {
		if !seen[text] {
			seen[text] = true
			first = append(first, text)
		}
	}
	return first
}

// lockWithServer locks the server and then the connection, for a change of both. It returns the
// function that unlocks them.
func (c *Conn) lockWithServer() (unlock func()) {
	c.server.mu.Lock()
	c.mu.Lock()
	return func() {
		c.mu.Unlock()
		c.server.mu.Unlock()
	}
}

func (c *Conn) addSubscription(r *request, sub *subscriptions.Subscription) bool {
	defer c.lockWithServer()()
	if c.told.Len() >= c.server.o.MaxSubscriptions {
		return false
	}
	c.told.Add(sub)
	c.server.watchers.Add(c, sub.URIs...)
	return true
}

// setViewer keeps what the latest request says about its caller, for the changes that he is told of
// later: what he may see can change from one to the next, such as with another token.
func (c *Conn) setViewer(r *request) {
	if c.server.o.Visible == nil || c.isStateless() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewer = r.Context
}

func (c *Conn) removeSubscription(sub *subscriptions.Subscription) {
	defer c.server.subscriptionsChanged()
	defer c.lockWithServer()()
	c.told.Remove(sub)
	c.server.watchers.Remove(c, sub.URIs...)
}

// subscribe answers the legacy resources/subscribe (2025-11-25, server/resources, Subscriptions).
func subscribe(r *request) (*Result, error) {
	if r.era.Replicated {
		return nil, errReplicated
	}
	// before it is copied; an escape has 6 bytes
	if len(r.params.Get(paramURI)) > 6*subscriptions.MaxURI {
		return nil, subscriptions.ErrURI
	}
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	if len(uri) > subscriptions.MaxURI {
		return nil, subscriptions.ErrURI
	}
	if _, err := r.findResource(uri); err != nil {
		return nil, err
	}
	defer r.conn.server.subscriptionsChanged()
	defer r.conn.lockWithServer()()
	if err := r.conn.watch(r, uri); err != nil {
		return nil, err
	}
	return NewResult([]byte(`{}`)), nil
}

// watch subscribes a legacy client to a resource, if it is not. The caller holds both locks.
func (c *Conn) watch(r *request, uri string) error {
	s := c.server
	if c.told.URIs[uri] {
		return nil
	}
	if _, open := s.conns[c]; !open {
		return context.Canceled
	}
	if len(c.told.URIs) >= s.o.MaxWatched {
		return rpc.Errorf(rpc.CodeBusy,
			"%d resources are subscribed to already; unsubscribe from one first", len(c.told.URIs))
	}
	if c.told.URIs == nil {
		c.told.URIs, c.watched = map[string]bool{}, (*quota.Pool)(s.o.Watched).Open(r.quotaOwner())
	}
	if err := subscriptions.Watch(c.watched, uri); err != nil {
		return err
	}
	if c.retain(r.quotaOwner(), subscriptions.Size(uri)) != nil {
		subscriptions.Unwatch(c.watched, uri)
		return subscriptions.ErrNoRoom
	}
	c.told.URIs[uri] = true
	s.watchers.Add(c, uri)
	return nil
}

// unwatch ends a subscription of a legacy client, if there is one. The caller holds both locks.
func (c *Conn) unwatch(r *request, uri string) {
	if _, open := c.server.conns[c]; !open || !c.told.URIs[uri] {
		return // Close has given back what it took
	}
	delete(c.told.URIs, uri)
	c.server.watchers.Remove(c, uri)
	// cannot fail, because the account shrinks
	_ = c.retain(r.quotaOwner(), -subscriptions.Size(uri))
	subscriptions.Unwatch(c.watched, uri)
}

// setSubscribed makes these the resources that a legacy client is subscribed to.
func (c *Conn) setSubscribed(r *request, uris []string) error {
	defer c.server.subscriptionsChanged()
	defer c.lockWithServer()()
	for uri := range c.told.URIs {
		if !slices.Contains(uris, uri) {
			c.unwatch(r, uri)
		}
	}
	for _, uri := range uris {
		if err := c.watch(r, uri); err != nil {
			return err
		}
	}
	return nil
}

// unsubscribe answers the legacy resources/unsubscribe.
func unsubscribe(r *request) (*Result, error) {
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	defer r.conn.server.subscriptionsChanged()
	defer r.conn.lockWithServer()()
	r.conn.unwatch(r, uri)
	return NewResult([]byte(`{}`)), nil
}

// SubscribedResources returns the URIs of the resources that clients have subscribed to, sorted and
// without duplicates.
func (i Integration) SubscribedResources() []string {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return slices.Sorted(maps.Keys(i.s.watchers))
}
