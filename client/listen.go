package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	// the delay before a lost subscription is opened again; doubled each time
	minRelisten = time.Second
	maxRelisten = time.Minute // the longest delay; a subscription that lasted this long resets it
	// ackTimeout is how long to wait for the acknowledgement of a stream. Before it, a change may
	// be missed, because messages over HTTP are not ordered.
	ackTimeout = 300 * time.Millisecond
)

// listen opens the stream, at once if now is true, and keeps it open until the connection ends. It
// waits for the acknowledgement for at most ackTimeout, so that no later change is missed.
func (c *Client) listen(lists mcp.SubscriptionFilter, now bool) {
	s := c.listening
	s.Lists = lists
	var err error
	if now {
		err = c.relisten(nil)
	}
	c.wg.Go(func() { c.keepListening(err) })
}

// keepListening opens the stream again when it ends, with growing delays. err is the error of the
// first attempt.
func (c *Client) keepListening(err error) {
	s := c.listening
	for wait := minRelisten; ; wait = min(2*wait, maxRelisten) {
		began := time.Now()
		stream := s.Current()
		if stream == nil && err == nil {
			select {
			case <-s.Replaced:
				wait = minRelisten / 2
				continue
			case <-c.ctx.Done():
				return
			}
		}
		if err == nil {
			err = stream.Wait(c.ctx, nil)
		}
		switch {
		case c.ctx.Err() != nil || errors.Is(err, rpc.ErrClosed):
			return
		case errors.Is(err, subscription.ErrReplaced):
			err, wait = nil, minRelisten/2
			continue
		case errors.Is(err, rpc.ErrMethodNotFound) || errors.Is(err, rpc.ErrInvalidParams):
			c.warn("changes will not be noticed: the server refuses "+mcp.MethodListen,
				slog.Any("error", err))
			s.Forget(stream)
			err = nil
			continue
		case time.Since(began) >= maxRelisten:
			wait = minRelisten
		}
		if !c.pause(wait, stream) {
			return
		}
		err = c.relisten(stream)
		c.assumeChanged()
	}
}

// assumeChanged treats all watched lists and resources as changed, because notifications may be
// lost.
func (c *Client) assumeChanged() {
	for _, l := range c.lists {
		c.o.Cache.results.Invalidate(l.Notification, nil)
		l.MarkChanged()
	}
	if c.updates != nil {
		c.o.Cache.results.Invalidate(mcp.NotificationResourceUpdated, nil)
		c.updates.PutAll()
	}
}

// pause waits, but not longer than until another stream replaces the lost one. It returns false
// when the connection has ended.
func (c *Client) pause(wait time.Duration, lost *rpc.Call) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for c.listening.Current() == lost {
		select {
		case <-timer.C:
			return true
		case <-c.listening.Replaced: // possibly before the lost one was waited for
		case <-c.ctx.Done():
			return false
		}
	}
	return true
}

// relisten replaces a stream that has ended, unless that was done already, and waits briefly for
// the acknowledgement.
func (c *Client) relisten(lost *rpc.Call) error {
	s := c.listening
	select {
	case s.Busy <- struct{}{}:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	defer func() { <-s.Busy }()
	if s.Current() != lost {
		return nil
	}
	stream, err := c.startListen(c.ctx, s.Filter(s.Subscribed()))
	if err != nil {
		return err
	}
	acks := s.Expect(stream)
	defer s.StopExpecting()
	s.Open(stream)
	ackTimer := time.NewTimer(ackTimeout)
	defer ackTimer.Stop()
	select {
	case <-acks:
	case <-stream.Done():
	case <-ackTimer.C:
	case <-c.ctx.Done():
	}
	return nil
}

func (c *Client) startListen(ctx context.Context, filter mcp.SubscriptionFilter) (*rpc.Call,
	error) {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: filter})
	if err != nil {
		return nil, err
	}
	return c.peer.Start(ctx, mcp.MethodListen,
		&call{params: json.RawMessage(params), meta: c.meta.Load()})
}

// acknowledged compares the acknowledged filter with the requested one.
func (c *Client) acknowledged(params []byte) {
	var agreed mcp.ListenParams
	session := c.session.Load()
	if session == nil || mcp.Unmarshal(params, &agreed) != nil {
		return
	}
	id := string(jsonscan.Member(jsonscan.Member(params, "_meta"), mcp.MetaSubscriptionID))
	if parsed, err := rpc.ParseID([]byte(id)); err == nil {
		if integer, ok := parsed.Integer(); ok { // as those of the client's requests
			id = integer.String()
		}
	}
	c.listening.Acknowledge(subscription.Ack{ID: id, Agreed: agreed.Notifications}, len(params))
	for _, l := range c.lists {
		if both := agreed.Notifications; l.IsDeclared(&session.capabilities) {
			l.AddTo(&both)
			if !reflect.DeepEqual(both, agreed.Notifications) {
				c.warn("the server does not agree to send " + l.Notification)
			}
		}
	}
}
