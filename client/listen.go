package client

import (
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	minRelisten = time.Second // after a subscription was lost; doubled each time
	maxRelisten = time.Minute // and no more than this; a subscription that lasted as long starts anew
)

// A subscription is the connection's subscriptions/listen stream (2026-07-28, Subscriptions).
type subscription struct {
	mu     sync.Mutex
	stream *rpc.Pending // the request, unanswered as long as the stream is open
	ended  rpc.ID       // the last that the server has ended and that was not, or not yet, the stream's
}

// errEnded is the cause of the end of a stream that the server has cancelled.
var errEnded = errors.New("ended by the server")

func (s *subscription) open(stream *rpc.Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = stream
	if s.ended == stream.ID() {
		stream.Cancel(errEnded)
	}
}

// end takes the id in a notifications/cancelled of the server, on the reader's goroutine, and reports whether it was the stream's.
func (s *subscription) end(id rpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil || s.stream.ID() != id {
		s.ended = id
		return false
	}
	s.stream.Cancel(errEnded)
	return true
}

// listen opens the stream and keeps it open until the connection ends. The request is sent before listen returns, so that no change is missed that comes
// after what the application asks for next.
func (c *Client) listen(filter mcp.SubscriptionFilter) {
	stream, err := c.startListen(filter)
	c.wg.Go(func() {
		for wait := minRelisten; ; wait = min(2*wait, maxRelisten) {
			began := time.Now()
			if err == nil {
				err = stream.Wait(c.ctx, nil)
			}
			if c.ctx.Err() != nil || errors.Is(err, rpc.ErrClosed) {
				return
			}
			if errors.Is(err, rpc.ErrMethodNotFound) || errors.Is(err, rpc.ErrInvalidParams) {
				c.warn("changes will not be noticed: the server refuses "+mcp.MethodListen, slog.Any("error", err))
				return
			}
			if time.Since(began) >= maxRelisten {
				wait = minRelisten
			}
			select {
			case <-time.After(wait):
			case <-c.ctx.Done():
				return
			}
			stream, err = c.startListen(filter)
			for _, l := range c.lists { // there may have been changes meanwhile
				l.note()
			}
		}
	})
}

func (c *Client) startListen(filter mcp.SubscriptionFilter) (*rpc.Pending, error) {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: filter})
	if err != nil {
		return nil, err
	}
	stream, err := c.peer.Start(c.ctx, mcp.MethodListen, &call{params: json.RawMessage(params), meta: c.meta.Load()})
	if err == nil {
		c.listening.open(stream)
	}
	return stream, err
}

// acknowledged compares what the server agrees to tell with what it was asked for.
func (c *Client) acknowledged(params []byte) {
	var agreed mcp.SubscriptionsAcknowledgedParams
	session := c.session.Load()
	if session == nil || mcp.Unmarshal(params, &agreed) != nil {
		return
	}
	for _, l := range c.lists {
		if both := agreed.Notifications; l.told(&session.capabilities) {
			l.want(&both)
			if !reflect.DeepEqual(both, agreed.Notifications) {
				c.warn("the server does not agree to send " + l.notification)
			}
		}
	}
}
