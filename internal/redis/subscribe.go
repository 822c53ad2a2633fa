package redis

import (
	"context"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/internal/wake"
)

// A Message is what a subscription receives.
type Message struct {
	Payload []byte
	// Lost reports that messages may be missing here, because the connection was broken or the
	// subscription was read too slowly. Such a Message has no payload.
	Lost bool
}

const maxMessages = 1024 // that wait for the reader of a subscription

// A Subscription receives the messages of a channel. The messages that wait for its reader are
// bounded, so that a slow one delays nobody.
type Subscription struct {
	channels *channels
	name     string
	wake     chan struct{}

	// guarded by the mutex of the link
	queue  [][]byte
	active bool // the server has confirmed it once
	lost   bool
	err    error // nil until it ends
}

// channels are the subscriptions of a client, on a connection of their own: the server limits what
// waits for a subscriber, and replies may be larger. The mutex of the link guards them.
type channels struct {
	*link
	slots chan struct{} // one for each subscription, until the server has been told of its end
	names map[string][]*Subscription
	bytes int64 // of messages that wait
}

// Subscribe returns a subscription once the server has it, so that it receives what is published
// afterwards. It is renewed when the connection breaks. The caller must close it.
func (c *Client) Subscribe(ctx context.Context, channel string) (*Subscription, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, unavailable(ErrClosed)
	}
	if c.channels == nil {
		s := &channels{slots: make(chan struct{}, c.o.MaxPending),
			names: map[string][]*Subscription{}}
		s.link = newLink(&c.o, s.renew, s.deliver)
		c.channels = s
		go s.run()
	}
	all := c.channels
	c.mu.Unlock()
	select {
	case all.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, unavailable(context.Cause(ctx))
	case <-all.ctx.Done():
		return nil, unavailable(ErrClosed)
	}
	s := &Subscription{channels: all, name: channel, wake: make(chan struct{}, 1)}
	call := newCall("SUBSCRIBE", channel)
	call.pushed, call.idempotent = true, true
	call.then = func() { s.active = s.active || call.err == nil }
	all.mu.Lock()
	err := all.add(call)
	if err == nil {
		all.names[channel] = append(all.names[channel], s)
	}
	all.mu.Unlock()
	if err != nil {
		<-all.slots
		return nil, err
	}
	if _, err := all.wait(ctx, call); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the subscription. Next returns [ErrClosed] from now on.
func (s *Subscription) Close() {
	all := s.channels
	all.mu.Lock()
	defer all.mu.Unlock()
	s.end(ErrClosed)
}

// end ends a subscription, if it has not ended. The caller holds the mutex.
func (s *Subscription) end(err error) {
	if s.err != nil {
		return
	}
	all := s.channels
	s.err = err
	s.drop()
	wake.Up(s.wake)
	others := all.names[s.name]
	for i, other := range others {
		if other == s {
			others = append(others[:i:i], others[i+1:]...)
			break
		}
	}
	release := func() { <-all.slots }
	if all.names[s.name] = others; len(others) > 0 {
		release()
		return
	}
	delete(all.names, s.name)
	call := newCall("UNSUBSCRIBE", s.name)
	call.pushed, call.left, call.then = true, true, release
	if all.add(call) != nil {
		release() // the next connection does not have it
	}
}

// Next waits for the next message.
func (s *Subscription) Next(ctx context.Context) (Message, error) {
	all := s.channels
	for {
		all.mu.Lock()
		switch {
		case s.lost && s.err == nil:
			s.lost = false
			all.mu.Unlock()
			return Message{Lost: true}, nil
		case len(s.queue) > 0:
			payload := s.queue[0]
			s.queue[0] = nil
			s.queue = s.queue[1:]
			all.bytes -= itemCost + int64(len(payload))
			all.mu.Unlock()
			return Message{Payload: payload}, nil
		case s.err != nil:
			err := s.err
			all.mu.Unlock()
			return Message{}, err
		}
		all.mu.Unlock()
		select {
		case <-s.wake:
		case <-all.ended:
			return Message{}, ErrClosed
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		}
	}
}

// drop forgets the messages that wait. The caller holds the mutex.
func (s *Subscription) drop() {
	for _, payload := range s.queue {
		s.channels.bytes -= itemCost + int64(len(payload))
	}
	s.queue = nil
}

// deliver passes a message on. The caller holds the mutex.
func (all *channels) deliver(push Reply) {
	if len(push.items) != 3 || string(push.items[0].text) != "message" {
		return // such as an invalidation that nobody asked for
	}
	payload := push.items[2].text
	cost := itemCost + int64(len(payload))
	for _, s := range all.names[string(push.items[1].text)] {
		if !s.active {
			continue // it was published before, to a subscription that has ended
		}
		if len(s.queue) == maxMessages || all.bytes+cost > all.o.MaxPendingBytes {
			s.drop()
			s.lost = true
		} else {
			s.queue = append(s.queue, payload)
			all.bytes += cost
		}
		wake.Up(s.wake)
	}
}

// renew returns the commands that subscribe to all channels again. The caller holds the mutex.
func (all *channels) renew() (calls []*call) {
	for name, subscriptions := range all.names {
		if !slices.ContainsFunc(subscriptions, func(s *Subscription) bool { return s.active }) {
			continue // the first command waits in the queue
		}
		call := newCall("SUBSCRIBE", name)
		call.pushed, call.left = true, true
		call.then = func() {
			_, refused := errors.AsType[Error](call.err)
			for _, s := range all.names[name] {
				switch {
				case refused:
					defer s.end(call.err) // it changes the list
				case call.err == nil && s.active:
					s.drop() // what came before is older than what is missing
					s.lost = true
					wake.Up(s.wake)
				}
			}
		}
		calls = append(calls, call)
	}
	return calls
}
