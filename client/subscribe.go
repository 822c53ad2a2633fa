package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ErrNotAgreed matches the error of [Client.Subscribe] for a resource that a modern server does not
// acknowledge.
var ErrNotAgreed = errors.New("the server does not agree to send change notifications")

// Subscribe subscribes to changes of resources, until [Client.Unsubscribe]: the client then calls
// [Options].OnResourceUpdated, which must be set (2025-11-25, Resources, "Subscriptions";
// 2026-07-28, Subscriptions). It blocks until the server has acknowledged, Options.CallTimeout has
// passed or ctx ends. A modern server gets one request for all URIs; if it does not acknowledge
// all, nothing changes. With a legacy server, the URIs before the one in the error are subscribed.
// A subscription that a modern server ends is renewed after 1 s, and then with growing delays.
//
// The URIs of all subscriptions may have 16 MiB. Subscribe fails above that, and sends nothing.
//
// While the subscription changes, a modern server may announce one change twice.
//
// The error is one of [Client.Call], [ErrUndeclared] if the server does not declare
// subscriptions, or matches [ErrNotAgreed].
func (c *Client) Subscribe(ctx context.Context, uris ...string) error {
	if c.updates == nil {
		return &CallError{Server: c.o.Name, Method: mcp.MethodSubscribe,
			Err: errors.New("Options.OnResourceUpdated is not set, so no update would be reported")}
	}
	return c.subscribe(ctx, uris, mcp.MethodSubscribe, true)
}

// Unsubscribe ends subscriptions; it ignores URIs that are not subscribed. OnResourceUpdated may
// still be called shortly afterwards, because a modern server may not have processed it yet. It
// blocks and fails as Subscribe does.
func (c *Client) Unsubscribe(ctx context.Context, uris ...string) error {
	return c.subscribe(ctx, uris, mcp.MethodUnsubscribe, false)
}

// maxSubscribed is the size in bytes of all URIs that one client is subscribed to. A modern server
// gets all of them in one request.
const maxSubscribed = 16 << 20

// checkRoom returns an error if the URIs exceed maxSubscribed with those that are subscribed.
func (s *subscription) checkRoom(uris []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for uri := range s.uris {
		size += len(uri)
	}
	for _, uri := range uris {
		if !s.uris[uri] {
			size += len(uri)
		}
	}
	if size > maxSubscribed {
		return fmt.Errorf("the URIs of all subscriptions have %d bytes, more than %d", size,
			maxSubscribed)
	}
	return nil
}

func (c *Client) subscribe(ctx context.Context, uris []string, method string, on bool) error {
	modern := c.session.Load().features.Listen
	if modern {
		method = mcp.MethodListen
	}
	if err := c.require(subscribeCapability, method, ""); err != nil {
		return err
	}
	s := &c.listening
	if on {
		if err := s.checkRoom(uris); err != nil {
			return &CallError{Server: c.o.Name, Method: method, Err: err}
		}
	}
	if modern {
		r := &call{method: method, startedAt: time.Now()}
		err := c.changeSubscription(ctx, r, uris, on)
		if err == nil {
			return nil
		}
		return &CallError{Server: c.o.Name, Method: method, Name: r.name, Err: err}
	}
	for _, uri := range uris {
		if s.subscribed()[uri] == on {
			continue
		}
		r := &call{method: method, name: uri, params: &mcp.ResourceParams{URI: uri},
			decode: func([]byte) error { return nil }}
		if err := c.do(ctx, r, nil); err != nil {
			return err
		}
		s.mu.Lock()
		s.uris = updateSet(s.uris, []string{uri}, on)
		s.mu.Unlock()
	}
	return nil
}

// subscribed returns the subscribed resources.
func (s *subscription) subscribed() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.uris)
}

// updateSet adds URIs to a set, which may be nil, or removes them.
func updateSet(set map[string]bool, uris []string, on bool) map[string]bool {
	if set == nil {
		set = make(map[string]bool)
	}
	for _, uri := range uris {
		if on {
			set[uri] = true
		} else {
			delete(set, uri)
		}
	}
	return set
}

// changeSubscription changes the resources of a modern subscription.
func (c *Client) changeSubscription(ctx context.Context, r *call, uris []string, on bool) error {
	s := &c.listening
	expires := func() {}
	if c.o.CallTimeout >= 0 {
		ctx, expires = context.WithTimeout(ctx, c.o.CallTimeout)
	}
	defer expires()
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return c.abortError(ctx.Err(), r)
	case <-c.closing:
		return errClosed
	}
	defer func() { <-s.busy }()

	wanted := s.subscribed()
	before := len(wanted)
	if wanted = updateSet(wanted, uris, on); len(wanted) == before {
		return nil
	}
	var next *rpc.Call
	if f := s.filter(wanted); f.ResourceSubscriptions != nil || s.lists.ToolsListChanged ||
		s.lists.PromptsListChanged || s.lists.ResourcesListChanged {
		var err error
		if next, err = c.startAcknowledged(ctx, r, f); err != nil {
			return err
		}
	}
	s.mu.Lock()
	old := s.stream
	s.stream, s.uris = next, wanted
	if next != nil && s.ended == next.ID() {
		next.Cancel(errEnded)
	}
	s.mu.Unlock()
	wake.Up(s.replaced)
	if old != nil {
		c.cancelled.Cancel(mcp.MethodListen, old, errReplaced)
	}
	if on { // earlier changes were not announced
		for _, uri := range uris {
			c.o.Cache.results.Drop(mcp.MethodReadResource, uri)
		}
	}
	return nil
}

// startAcknowledged opens a stream and waits until the server has acknowledged all of it.
func (c *Client) startAcknowledged(ctx context.Context, r *call,
	filter mcp.SubscriptionFilter) (*rpc.Call, error) {
	s := &c.listening
	next, err := c.startListen(ctx, filter)
	if err != nil {
		return nil, c.sendError(ctx, r, err)
	}
	acks := s.expect(next)
	defer s.expected()
	select {
	case a := <-acks:
		for _, uri := range filter.ResourceSubscriptions {
			if !slices.Contains(a.agreed.ResourceSubscriptions, uri) {
				c.cancelled.Cancel(mcp.MethodListen, next, errUnwanted)
				r.name = uri
				return nil, ErrNotAgreed
			}
		}
		return next, nil
	case <-next.Done():
		if err := next.Wait(context.Background(), nil); err != nil && !errors.Is(err, errEnded) {
			return nil, c.connectionError(ctx, err)
		}
		return nil, errEnded
	case <-ctx.Done():
		c.cancelled.Cancel(mcp.MethodListen, next, errUnwanted)
		return nil, c.abortError(ctx.Err(), r)
	case <-c.closing:
		c.cancelled.Cancel(mcp.MethodListen, next, errClosed)
		return nil, errClosed
	}
}
