package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	minRelisten = time.Second // after a subscription was lost; doubled each time
	maxRelisten = time.Minute // and no more than this; a subscription that lasted as long starts anew
	// ackPatience is how long what comes next waits for the server to acknowledge a stream. Only from then on it is certain that no change is missed, as over HTTP
	// each message goes its own way.
	ackTimeout = 300 * time.Millisecond
)

// A subscription is the connection's subscriptions/listen stream (2026-07-28, Subscriptions). To change what it is about, a second stream is opened, and
// takes the place of the first when the server has acknowledged it: so nothing is missed in between.
type subscription struct {
	busy     chan struct{} // capacity 1: held by who opens a stream
	replaced chan struct{} // capacity 1: there is a new stream
	lists    mcp.SubscriptionFilter

	mu     sync.Mutex
	stream *rpc.Pending    // the request, unanswered as long as the stream is open; nil if there is none
	ended  rpc.ID          // the last that the server has ended and that was not, or not yet, the stream's
	next   *rpc.Pending    // is to take its place
	acks   chan ack        // capacity 1: of next
	early  ack             // the last that was not, or not yet, next's
	uris   map[string]bool // of the resources that are subscribed to, in both eras
}

// An ack is what the server agrees to tell on a stream.
type ack struct {
	id     string // of the stream, as it stands on the wire
	agreed mcp.SubscriptionFilter
}

var (
	// errEnded is the cause of the end of a stream that the server has cancelled.
	errEnded = errors.New("ended by the server")
	// errReplaced is that of one whose place another has taken.
	errReplaced = errors.New("replaced")
)

func (s *subscription) open(stream *rpc.Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = stream
	if s.ended == stream.ID() {
		stream.Cancel(errEnded)
	}
}

func (s *subscription) current() *rpc.Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// end takes the id in a notifications/cancelled of the server, on the reader's goroutine, and reports whether it was the stream's.
func (s *subscription) end(id rpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range []*rpc.Pending{s.stream, s.next} {
		if stream != nil && stream.ID() == id {
			stream.Cancel(errEnded)
			return true
		}
	}
	s.ended = id
	return false
}

// acknowledge takes an ack, on the reader's goroutine.
func (s *subscription) acknowledge(a ack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil || a.id != "" && a.id != s.next.ID().String() {
		s.early = a
		return
	}
	select {
	case s.acks <- a:
	default: // it has one
	}
}

// expect makes a stream the next, and returns where its ack comes.
func (s *subscription) expect(stream *rpc.Pending) <-chan ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.acks = stream, make(chan ack, 1)
	if s.early.id == stream.ID().String() {
		s.acks <- s.early
	}
	if s.ended == stream.ID() {
		stream.Cancel(errEnded)
	}
	return s.acks
}

// expected ends what expect began.
func (s *subscription) expected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.acks = nil, nil
}

// filter is what the stream is about, with these resources.
func (s *subscription) filter(uris map[string]bool) mcp.SubscriptionFilter {
	f := s.lists
	if len(uris) > 0 {
		f.ResourceSubscriptions = slices.Sorted(maps.Keys(uris))
	}
	return f
}

// listen opens the stream, at once if there are lists to hear of, and keeps it open until the connection ends. It returns when the server has acknowledged the
// request, if it does so in time: so no change is missed that comes after what the application asks for next.
func (c *Client) listen(lists mcp.SubscriptionFilter, now bool) {
	s := &c.listening
	s.lists = lists
	var err error
	if now {
		err = c.relisten(nil)
	}
	c.wg.Go(func() { c.keepListening(err) })
}

// keepListening opens the stream again whenever it ends, less and less often. err is why the first could not be opened.
func (c *Client) keepListening(err error) {
	s := &c.listening
	for wait := minRelisten; ; wait = min(2*wait, maxRelisten) {
		began := time.Now()
		stream := s.current()
		if stream == nil && err == nil {
			select {
			case <-s.replaced:
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
		case errors.Is(err, errReplaced):
			err, wait = nil, minRelisten/2
			continue
		case errors.Is(err, rpc.ErrMethodNotFound) || errors.Is(err, rpc.ErrInvalidParams):
			c.warn("changes will not be noticed: the server refuses "+mcp.MethodListen, slog.Any("error", err))
			s.forget(stream)
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

// missed notes that messages may have been lost, which would have told of changes.
func (c *Client) assumeChanged() {
	for _, l := range c.lists {
		c.o.Cache.invalidate(l.notification, nil)
		l.markChanged()
	}
	if c.updates != nil {
		c.o.Cache.invalidate(mcp.NotificationResourceUpdated, nil)
		c.updates.all()
	}
}

// pause waits, or until there is another stream than the lost one. It reports false when the connection has ended.
func (c *Client) pause(wait time.Duration, lost *rpc.Pending) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for c.listening.current() == lost {
		select {
		case <-timer.C:
			return true
		case <-c.listening.replaced: // or was, before the lost one was waited for
		case <-c.ctx.Done():
			return false
		}
	}
	return true
}

// forget lets go of a stream that has ended for good.
func (s *subscription) forget(stream *rpc.Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// relisten opens a stream in place of one that has ended, unless that has happened, and waits for a moment until the server acknowledges it.
func (c *Client) relisten(lost *rpc.Pending) error {
	s := &c.listening
	select {
	case s.busy <- struct{}{}:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	defer func() { <-s.busy }()
	if s.current() != lost {
		return nil
	}
	stream, err := c.startListen(c.ctx, s.filter(s.subscribed()))
	if err != nil {
		return err
	}
	acks := s.expect(stream)
	defer s.expected()
	s.open(stream)
	patience := time.NewTimer(ackTimeout)
	defer patience.Stop()
	select {
	case <-acks:
	case <-stream.Done():
	case <-patience.C:
	case <-c.ctx.Done():
	}
	return nil
}

func (c *Client) startListen(ctx context.Context, filter mcp.SubscriptionFilter) (*rpc.Pending, error) {
	params, err := mcp.Marshal(mcp.ListenParams{Notifications: filter})
	if err != nil {
		return nil, err
	}
	return c.peer.Start(ctx, mcp.MethodListen, &call{params: json.RawMessage(params), meta: c.meta.Load()})
}

// acknowledged compares what the server agrees to tell with what it was asked for.
func (c *Client) acknowledged(params []byte) {
	var agreed mcp.SubscriptionsAcknowledgedParams
	session := c.session.Load()
	if session == nil || mcp.Unmarshal(params, &agreed) != nil {
		return
	}
	id := jsonscan.Member(jsonscan.Member(params, "_meta"), mcp.MetaSubscriptionID)
	c.listening.acknowledge(ack{string(id), agreed.Notifications})
	for _, l := range c.lists {
		if both := agreed.Notifications; l.isDeclared(&session.capabilities) {
			l.addTo(&both)
			if !reflect.DeepEqual(both, agreed.Notifications) {
				c.warn("the server does not agree to send " + l.notification)
			}
		}
	}
}
