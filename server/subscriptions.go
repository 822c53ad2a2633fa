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
)

// A subscription is an open subscriptions/listen request.
type subscription struct {
	link     Link
	meta     outgoing.Params // _meta of its notifications, without the closing brace
	accepted outgoing.Params // the filter to acknowledge; nil after the acknowledgment
	lists    []string        // the methods of the list changes in the filter
	subjects []changeNotification
	uris     []string             // the resources among the subjects
	watched  *quota.Account       // for the URIs, in Options.Watched
	active   bool                 // the acknowledgment was sent
	missed   []changeNotification // notifications from before the acknowledgment
}

// subscriptionsTo returns the subscriptions whose filter includes a notification. The caller holds
// mu, and must not modify the slice.
func (c *Conn) subscriptionsTo(n changeNotification) (all []*subscription) {
	if n.subject != "" {
		return c.bySubject[n]
	}
	for _, sub := range c.subscriptions {
		if slices.Contains(sub.lists, n.method) {
			all = append(all, sub)
		}
	}
	return all
}

// listen answers subscriptions/listen. It blocks until the subscription ends (2026-07-28,
// basic/patterns/subscriptions). A subscription belongs to its connection and is identified by the
// ID of its request.
func listen(r *request) (*Result, error) {
	c := r.conn
	sub, err := r.subscribe()
	if err != nil {
		return nil, err
	}
	defer sub.watched.Close()
	defer c.removeSubscription(sub)
	r.Detach()
	if err := r.acknowledge(sub); err != nil {
		return nil, err
	}
	c.activateSubscription(sub)
	select {
	case <-r.Done():
	case <-c.closing:
	}
	return r.endSubscription(sub)
}

// subscribe adds the subscription that the request asks for to the connection.
func (r *request) subscribe() (*subscription, error) {
	c := r.conn
	raw := jsonscan.Member(r.Params, "notifications")
	if len(raw) == 0 || raw[0] != '{' {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: notifications is required and must be an object")
	}
	var filter mcp.SubscriptionFilter
	if err := mcp.Unmarshal(raw, &filter); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: notifications: %v", err)
	}
	// released with the memory of the request; the ID is kept twice
	if r.account().Take(2*countedBytes(len(r.ID.String()))) != nil {
		return nil, errNoSubscriptionRoom
	}
	sub := &subscription{link: r.link, watched: c.server.o.Watched.Pool().Open(r.quotaOwner()),
		meta: outgoing.Params(`{"` + mcp.MetaSubscriptionID + `":` + r.ID.String())}
	added := false
	defer func() {
		if !added {
			sub.watched.Close()
		}
	}()
	var err error
	if sub.accepted, err = c.server.accept(r, sub, &filter); err != nil {
		return nil, err
	}
	size := int64(0)
	for _, uri := range sub.uris {
		size += watchSize(uri)
	}
	if r.account().Take(size) != nil {
		return nil, errNoSubscriptionRoom
	}
	if added = c.addSubscription(sub); !added {
		return nil, rpc.Errorf(rpc.CodeBusy, "%d subscriptions are open already; cancel one first",
			c.server.o.MaxSubscriptions)
	}
	c.server.subscriptionsChanged()
	return sub, nil
}

// acknowledge sends the acknowledgment, which is the first message. Changes that happen meanwhile
// are sent after it.
func (r *request) acknowledge(sub *subscription) error {
	ctx, cancel := r.readable()
	defer cancel()
	params := outgoing.Params(`{"notifications":` + string(sub.accepted) + `,"_meta":` + string(sub.meta) +
		`}}`)
	sub.accepted = nil
	return sub.link.Notify(ctx, mcp.NotificationSubscriptionsAcknowledged, params)
}

// endSubscription sends the notification that ends a subscription, and returns its result.
func (r *request) endSubscription(sub *subscription) (*Result, error) {
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
	result := append([]byte(`{"resultType":"complete","_meta":`), sub.meta...)
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
func (s *Server) accept(r *request, sub *subscription,
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
		sub.lists = append(sub.lists, mcp.NotificationToolListChanged)
	}
	if got.PromptsListChanged {
		sub.lists = append(sub.lists, mcp.NotificationPromptListChanged)
	}
	if got.ResourcesListChanged {
		sub.lists = append(sub.lists, mcp.NotificationResourceListChanged)
	}
	for _, uri := range unique(filter.ResourceSubscriptions) {
		if err := watchURI(sub.watched, uri); err != nil {
			return nil, err
		}
		if has.resources && s.visible(r, mcp.KindResource, uri) {
			sub.subjects = append(sub.subjects,
				changeNotification{mcp.NotificationResourceUpdated, uri})
			sub.uris = append(sub.uris, uri)
		}
	}
	got.ResourceSubscriptions = sub.uris
	if filter.TaskIDs != nil && has.tasks {
		if got.TaskIDs, err = s.acceptTasks(r, sub, filter.TaskIDs); err != nil {
			return nil, err
		}
	}
	return mcp.Marshal(got)
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

var errNoSubscriptionRoom = rpc.Errorf(rpc.CodeBusy,
	"There is no room for another subscription; unsubscribe from a resource, or try again later")

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

func (c *Conn) addSubscription(sub *subscription) bool {
	defer c.lockWithServer()()
	if len(c.subscriptions) >= c.server.o.MaxSubscriptions {
		return false
	}
	c.subscriptions = append(c.subscriptions, sub)
	for _, n := range sub.subjects {
		if c.bySubject == nil { // most connections have subscriptions to lists only
			c.bySubject = map[changeNotification][]*subscription{}
		}
		c.bySubject[n] = append(c.bySubject[n], sub)
	}
	c.server.watchers.add(c, sub.uris...)
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
	defer c.server.subscriptionsChanged()
	defer c.lockWithServer()()
	isSub := func(other *subscription) bool { return other == sub }
	c.subscriptions = slices.DeleteFunc(c.subscriptions, isSub)
	for _, n := range sub.subjects {
		if rest := slices.DeleteFunc(c.bySubject[n], isSub); len(rest) > 0 {
			c.bySubject[n] = rest
		} else {
			delete(c.bySubject, n)
		}
	}
	c.server.watchers.remove(c, sub.uris...)
}

// subscribe answers the legacy resources/subscribe (2025-11-25, server/resources, Subscriptions).
func subscribe(r *request) (*Result, error) {
	if r.era.Replicated {
		return nil, errReplicated
	}
	if len(r.params.Get(paramURI)) > 6*maxWatchedURI { // before it is copied; an escape has 6 bytes
		return nil, errWatchedURI
	}
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	if len(uri) > maxWatchedURI {
		return nil, errWatchedURI
	}
	if _, err := r.findResource(uri); err != nil {
		return nil, err
	}
	c, s := r.conn, r.conn.server
	defer s.subscriptionsChanged()
	defer c.lockWithServer()()
	if c.subscribed[uri] {
		return NewResult([]byte(`{}`)), nil
	}
	if _, open := s.conns[c]; !open {
		return nil, context.Canceled
	}
	if len(c.subscribed) >= s.o.MaxWatched {
		return nil, rpc.Errorf(rpc.CodeBusy,
			"%d resources are subscribed to already; unsubscribe from one first", len(c.subscribed))
	}
	if c.subscribed == nil {
		c.subscribed, c.watched = map[string]bool{}, s.o.Watched.Pool().Open(r.quotaOwner())
	}
	if err := watchURI(c.watched, uri); err != nil {
		return nil, err
	}
	if c.retain(r.quotaOwner(), watchSize(uri)) != nil {
		unwatchURI(c.watched, uri)
		return nil, errNoSubscriptionRoom
	}
	c.subscribed[uri] = true
	s.watchers.add(c, uri)
	return NewResult([]byte(`{}`)), nil
}

// unsubscribe answers the legacy resources/unsubscribe.
func unsubscribe(r *request) (*Result, error) {
	uri, err := r.uri()
	if err != nil {
		return nil, err
	}
	c, s := r.conn, r.conn.server
	defer s.subscriptionsChanged()
	defer c.lockWithServer()()
	if c.subscribed[uri] {
		delete(c.subscribed, uri)
		s.watchers.remove(c, uri)
		_ = c.retain(r.quotaOwner(), -watchSize(uri)) // cannot fail, because the account shrinks
		unwatchURI(c.watched, uri)
	}
	return NewResult([]byte(`{}`)), nil
}

// subscribedResources implements [Integration.SubscribedResources].
func (s *Server) subscribedResources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.watchers))
}

// onSubscriptionChange implements [Integration.OnSubscriptionChange].
func (s *Server) onSubscriptionChange(fn func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &fn
	s.subscriptionObservers = append(slices.Clip(s.subscriptionObservers), own)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subscriptionObservers = slices.DeleteFunc(slices.Clone(s.subscriptionObservers),
			func(other *func()) bool { return other == own })
	}
}

// subscriptionsChanged calls the functions of OnSubscriptionChange. The caller holds no lock.
func (s *Server) subscriptionsChanged() {
	s.mu.Lock()
	watchers := s.subscriptionObservers
	s.mu.Unlock()
	for _, fn := range watchers {
		s.runCallback("OnSubscriptionChange", *fn)
	}
}

// maxWatchedURI is the maximum number of bytes in the URI of a subscription.
const maxWatchedURI = 8 << 10

var errWatchedURI = rpc.Errorf(rpc.CodeInvalidParams,
	"Invalid params: a URI of more than %d bytes cannot be subscribed to", maxWatchedURI)

// watchURI takes the bytes of a URI from its owner's share of [Options].Watched.
func watchURI(a *quota.Account, uri string) error {
	switch {
	case len(uri) > maxWatchedURI:
		return errWatchedURI
	case a.Take(int64(len(uri))) != nil:
		return errNoSubscriptionRoom
	}
	return nil
}

// unwatchURI gives back what watchURI has taken.
func unwatchURI(a *quota.Account, uri string) { _ = a.Resize(a.Held() - int64(len(uri))) }

// watchers maps the URI of each resource to the connections that subscribe to it, with the number
// of their subscriptions. So the cost of an update depends only on the subscribers of its resource.
type watchers map[string]map[*Conn]int

// watchSize returns the bytes that a subscription to a resource takes in its owner's account: the
// URI and the approximate size of the map entries.
func watchSize(uri string) int64 { return int64(len(uri)) + 256 }

func (w watchers) add(c *Conn, uris ...string) {
	for _, uri := range uris {
		if w[uri] == nil {
			w[uri] = map[*Conn]int{}
		}
		w[uri][c]++
	}
}

// remove removes one subscription to each resource.
func (w watchers) remove(c *Conn, uris ...string) {
	for _, uri := range uris {
		if w[uri][c] > 1 {
			w[uri][c]--
			continue
		}
		delete(w[uri], c)
		if len(w[uri]) == 0 {
			delete(w, uri)
		}
	}
}
