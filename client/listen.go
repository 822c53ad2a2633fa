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
	// the delay before a lost subscription is opened again; doubled each time
	minRelisten = time.Second
	maxRelisten = time.Minute // the longest delay; a subscription that lasted this long resets it
	// ackTimeout is how long to wait for the acknowledgement of a stream. Before it, a change may
	// be missed, because messages over HTTP are not ordered.
	ackTimeout = 300 * time.Millisecond
	// what is kept of a message that names a request that the client may not know yet
	maxOwnID    = 20      // bytes of an id; the client's are integers
	maxEarlyAck = 1 << 20 // bytes of an acknowledgement
)

// A subscription is the subscriptions/listen stream of the connection (2026-07-28, Subscriptions).
// To change its filter, a second stream is opened, which replaces the first once it is
// acknowledged, so that no change is missed.
type subscription struct {
	busy     chan struct{} // capacity 1: held while a stream is opened
	replaced chan struct{} // capacity 1: there is a new stream
	lists    mcp.SubscriptionFilter

	mu     sync.Mutex
	stream *rpc.Call // in flight while the stream is open; nil for none
	// the last request that the server ended and that was not stream at that time
	ended rpc.ID
	next  *rpc.Call       // will replace stream
	acks  chan ack        // capacity 1: of next
	early ack             // the last acknowledgement that did not match next
	uris  map[string]bool // of the subscribed resources, in both eras
}

// An ack is the filter that the server acknowledged.
type ack struct {
	id     string // encoded
	agreed mcp.SubscriptionFilter
}

var (
	// errEnded is the cancellation cause of a stream that the server has ended.
	errEnded = errors.New("ended by the server")
	// errReplaced is the cancellation cause of a stream that another has replaced.
	errReplaced = errors.New("replaced")
)

func (s *subscription) open(stream *rpc.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = stream
	if s.ended == stream.ID() {
		stream.Cancel(errEnded)
	}
}

func (s *subscription) current() *rpc.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// end handles the id in notifications/cancelled, on the reader's goroutine, and reports whether it
// is the id of the stream.
func (s *subscription) end(id rpc.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range []*rpc.Call{s.stream, s.next} {
		if stream != nil && stream.ID() == id {
			stream.Cancel(errEnded)
			return true
		}
	}
	if len(id.String()) <= maxOwnID {
		s.ended = id
	}
	return false
}

// acknowledge handles an acknowledgement of size bytes, on the reader's goroutine.
func (s *subscription) acknowledge(a ack, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil || a.id != "" && a.id != s.next.ID().String() {
		if len(a.id) <= maxOwnID && size <= maxEarlyAck {
			s.early = a
		}
		return
	}
	select {
	case s.acks <- a:
	default: // it has one
	}
}

// expect sets the next stream, and returns the channel of its acknowledgement.
func (s *subscription) expect(stream *rpc.Call) <-chan ack {
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

// expected clears the next stream.
func (s *subscription) expected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.acks = nil, nil
}

// filter returns the filter for the lists and these resources.
func (s *subscription) filter(uris map[string]bool) mcp.SubscriptionFilter {
	f := s.lists
	if len(uris) > 0 {
		f.ResourceSubscriptions = slices.Sorted(maps.Keys(uris))
	}
	return f
}

// listen opens the stream, at once if now is true, and keeps it open until the connection ends. It
// waits for the acknowledgement for at most ackTimeout, so that no later change is missed.
func (c *Client) listen(lists mcp.SubscriptionFilter, now bool) {
	s := &c.listening
	s.lists = lists
	var err error
	if now {
		err = c.relisten(nil)
	}
	c.wg.Go(func() { c.keepListening(err) })
}

// keepListening opens the stream again when it ends, with growing delays. err is the error of the
// first attempt.
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
			c.warn("changes will not be noticed: the server refuses "+mcp.MethodListen,
				slog.Any("error", err))
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

// assumeChanged treats all watched lists and resources as changed, because notifications may be
// lost.
func (c *Client) assumeChanged() {
	for _, l := range c.lists {
		c.o.Cache.results.Invalidate(l.notification, nil)
		c.markChanged(l)
	}
	if c.updates != nil {
		c.o.Cache.results.Invalidate(mcp.NotificationResourceUpdated, nil)
		c.updates.all()
	}
}

// pause waits, but not longer than until another stream replaces the lost one. It returns false
// when the connection has ended.
func (c *Client) pause(wait time.Duration, lost *rpc.Call) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for c.listening.current() == lost {
		select {
		case <-timer.C:
			return true
		case <-c.listening.replaced: // possibly before the lost one was waited for
		case <-c.ctx.Done():
			return false
		}
	}
	return true
}

// forget removes a stream that is not opened again.
func (s *subscription) forget(stream *rpc.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// relisten replaces a stream that has ended, unless that was done already, and waits briefly for
// the acknowledgement.
func (c *Client) relisten(lost *rpc.Call) error {
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
	c.listening.acknowledge(ack{id, agreed.Notifications}, len(params))
	for _, l := range c.lists {
		if both := agreed.Notifications; l.isDeclared(&session.capabilities) {
			l.addTo(&both)
			if !reflect.DeepEqual(both, agreed.Notifications) {
				c.warn("the server does not agree to send " + l.notification)
			}
		}
	}
}
