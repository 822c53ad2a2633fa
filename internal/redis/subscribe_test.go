package redis

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
)

func push(what, channel, last string) string {
	return ">3\r\n" + bulk(what) + bulk(channel) + last
}

// subscribed answers SUBSCRIBE and UNSUBSCRIBE; NUMBER messages follow.
func subscribed(messages ...string) func(f *fakeConn, args []string) string {
	return func(f *fakeConn, args []string) string {
		switch args[0] {
		case "SUBSCRIBE":
			out := push("subscribe", args[1], ":1\r\n")
			for _, m := range messages {
				out += push("message", args[1], bulk(m))
			}
			return out
		case "UNSUBSCRIBE":
			return push("unsubscribe", args[1], ":0\r\n")
		}
		return "+PONG\r\n"
	}
}

func next(t *testing.T, s *Subscription) Message {
	t.Helper()
	m, err := s.Next(within(t))
	assert.NilError(t, err)
	return m
}

// A broken connection is made again and subscribed again, and the reader hears that it may have
// missed something. The server hears of the end of the last subscription of a channel only.
func TestSubscription(t *testing.T) {
	f := startFake(t, subscribed("a", "b"))
	c := f.client(t)
	one, err := c.Subscribe(within(t), "ch")
	assert.NilError(t, err)
	assert.Equal(t, string(next(t, one).Payload), "a")
	assert.Equal(t, string(next(t, one).Payload), "b")
	f.drop()
	assert.DeepEqual(t, next(t, one), Message{Lost: true})
	assert.Equal(t, string(next(t, one).Payload), "a")
	two, err := c.Subscribe(within(t), "ch")
	assert.NilError(t, err)
	two.Close()
	two.Close()
	_, err = two.Next(within(t))
	assert.ErrorIs(t, err, ErrClosed)
	assert.Equal(t, f.commands(), "SUBSCRIBE ch,SUBSCRIBE ch,SUBSCRIBE ch")
	one.Close()
	eventually.True(t, "the server hears of it", func() bool {
		return f.commands() == "SUBSCRIBE ch,SUBSCRIBE ch,SUBSCRIBE ch,UNSUBSCRIBE ch"
	})
	eventually.True(t, "the places are free", func() bool { return len(c.channels.slots) == 0 })
	assert.Equal(t, c.channels.bytes, int64(0))
}

// The messages that wait for a slow reader are bounded, and it hears that some are lost.
func TestSlowSubscriber(t *testing.T) {
	f := startFake(t, subscribed(make([]string, maxMessages+2)...))
	s, err := f.client(t).Subscribe(within(t), "ch")
	assert.NilError(t, err)
	eventually.True(t, "all have come", func() bool {
		s.channels.mu.Lock()
		defer s.channels.mu.Unlock()
		return s.lost && len(s.queue) == 1
	})
	assert.DeepEqual(t, next(t, s), Message{Lost: true})
	assert.DeepEqual(t, next(t, s), Message{Payload: []byte{}})
}

// A subscription that the server refuses is an error, also when it does so only later.
func TestSubscriptionRefused(t *testing.T) {
	refusal := "-NOPERM this user has no permissions to access one of the channels\r\n"
	f := startFake(t, func(f *fakeConn, args []string) string {
		if args[1] == "closed" || f.number > 2 { // 1: commands, 2: channels
			return refusal
		}
		return subscribed()(f, args)
	})
	c := f.client(t)
	eventually.True(t, "it is connected", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.count == 1
	})
	_, err := c.Subscribe(within(t), "closed")
	assert.Assert(t, IsCode(err, "NOPERM"), err)
	s, err := c.Subscribe(within(t), "open")
	assert.NilError(t, err)
	f.drop()
	_, err = s.Next(within(t))
	assert.Assert(t, IsCode(err, "NOPERM"), err)
	eventually.True(t, "the places are free", func() bool { return len(c.channels.slots) == 0 })
}

// Close ends whoever waits.
func TestCloseEndsSubscribers(t *testing.T) {
	c := startFake(t, subscribed()).client(t)
	s, err := c.Subscribe(within(t), "ch")
	assert.NilError(t, err)
	ended := make(chan error)
	go func() {
		_, err := s.Next(within(t))
		ended <- err
	}()
	c.Close()
	assert.ErrorIs(t, <-ended, ErrClosed)
}
