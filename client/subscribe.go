package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/internal/subscription"
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
// The URIs of all subscriptions may have 16 MiB, and with a modern server no more than fits into
// one message of Options.MaxSend, which is less by default. Subscribe fails above that, and sends
// nothing. Calls at the same time may together exceed the 16 MiB with a legacy server.
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

func (c *Client) subscribe(ctx context.Context, uris []string, method string, on bool) error {
	modern := c.session.Load().features.Listen
	if modern {
		method = mcp.MethodListen
	}
	if err := c.require(subscribeCapability, method, ""); err != nil {
		return err
	}
	if modern {
		r := &call{method: method, startedAt: time.Now()}
		err := c.changeSubscription(ctx, r, uris, on)
		if err == nil {
			return nil
		}
		return &CallError{Server: c.o.Name, Method: method, Name: r.name, Err: err}
	}
	s := c.listening
	if on {
		if err := s.CheckRoom(uris); err != nil {
			return &CallError{Server: c.o.Name, Method: method, Err: err}
		}
	}
	for _, uri := range uris {
		if s.Has(uri) == on {
			continue
		}
		r := &call{method: method, name: uri, params: &mcp.ResourceParams{URI: uri},
			decode: ignore}
		if err := c.do(ctx, r, nil); err != nil {
			return err
		}
		s.Set(uri, on)
	}
	return nil
}

// changeSubscription changes the resources of a modern subscription.
func (c *Client) changeSubscription(ctx context.Context, r *call, uris []string, on bool) error {
	s := c.listening
	expires := func() {}
	if c.o.CallTimeout >= 0 {
		ctx, expires = context.WithTimeout(ctx, c.o.CallTimeout)
	}
	defer expires()
	select {
	case s.Busy <- struct{}{}:
	case <-ctx.Done():
		return c.abortError(ctx.Err(), r)
	case <-c.closing:
		return errClosed
	}
	defer func() { <-s.Busy }()

	if on {
		if err := s.CheckRoom(uris); err != nil {
			return err
		}
	}
	wanted := s.Subscribed()
	before := len(wanted)
	if subscription.Update(wanted, uris, on); len(wanted) == before {
		return nil
	}
	var next *rpc.Call
	if f := s.Filter(wanted); f.ResourceSubscriptions != nil || s.Lists.ToolsListChanged ||
		s.Lists.PromptsListChanged || s.Lists.ResourcesListChanged {
		var err error
		if next, err = c.startAcknowledged(ctx, r, f); err != nil {
			return err
		}
	}
	if old := s.Replace(next, wanted); old != nil {
		c.cancelled.Cancel(mcp.MethodListen, old, subscription.ErrReplaced)
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
	s := c.listening
	next, err := c.startListen(ctx, filter)
	if err != nil {
		return nil, c.sendError(ctx, r, err)
	}
	acks := s.Expect(next)
	defer s.StopExpecting()
	select {
	case a := <-acks:
		for _, uri := range filter.ResourceSubscriptions {
			if !slices.Contains(a.Agreed.ResourceSubscriptions, uri) {
				c.cancelled.Cancel(mcp.MethodListen, next, errUnwanted)
				r.name = uri
				return nil, ErrNotAgreed
			}
		}
		return next, nil
	case <-next.Done():
		err := next.Wait(context.Background(), nil)
		if err != nil && !errors.Is(err, subscription.ErrEnded) {
			return nil, c.connectionError(ctx, err)
		}
		return nil, subscription.ErrEnded
	case <-ctx.Done():
		c.cancelled.Cancel(mcp.MethodListen, next, errUnwanted)
		return nil, c.abortError(ctx.Err(), r)
	case <-c.closing:
		c.cancelled.Cancel(mcp.MethodListen, next, errClosed)
		return nil, errClosed
	}
}
