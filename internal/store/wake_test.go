package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// An unheard store loses all messages, and may refuse subscriptions.
type unheard struct {
	Store
	loses, refuses atomic.Bool
	subscribed     atomic.Int32
}

func (s *unheard) Publish(ctx context.Context, channel string, message []byte) error {
	if s.loses.Load() {
		return errors.New("it is lost")
	}
	return s.Store.Publish(ctx, channel, message)
}

func (s *unheard) Subscribe(ctx context.Context, channel string) (Subscription, error) {
	s.subscribed.Add(1)
	if s.refuses.Load() {
		return nil, errors.New("it is forbidden")
	}
	return s.Store.Subscribe(ctx, channel)
}

// Who follows a log is woken at once when something is added, and a little later if the message was
// lost or the store has no channels; otherwise rarely.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unheard{Store: new(Memory)}
		wake := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(wake)
			Wake(ctx, s, "log", wake)
		}()
		add := func() {
			assert.NilError(t, AppendAndWake(ctx, s, "log", []byte("x"),
				LogBounds{Events: 10, Bytes: 1000, TTL: time.Hour}))
		}
		after := func() time.Duration {
			begun := time.Now()
			<-wake
			return time.Since(begun)
		}
		synctest.Wait()
		assert.Equal(t, after(), time.Duration(0)) // what was added before
		add()
		assert.Equal(t, after(), time.Duration(0))
		s.loses.Store(true)
		add()
		for range 10 {
			waited := after()
			assert.Assert(t, waited >= 10*time.Second && waited <= 15*time.Second, waited)
		}
		assert.Equal(t, s.subscribed.Load(), int32(1))
		for range 5 { // of several, one is enough
			s.loses.Store(false)
			add()
		}
		synctest.Wait()
		after()
		assert.Assert(t, after() >= 10*time.Second)
		cancel()
		_, open := <-wake
		for open {
			_, open = <-wake
		}

		s.refuses.Store(true)
		ctx, cancel = context.WithCancel(t.Context())
		wake = make(chan struct{}, 1)
		go func() {
			defer close(wake)
			Wake(ctx, s, "log", wake)
		}()
		assert.Equal(t, after(), time.Duration(0))
		for range 10 {
			waited := after()
			assert.Assert(t, waited >= 14*time.Second && waited <= 16*time.Second, waited)
		}
		s.refuses.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		after()
		add()
		assert.Equal(t, after(), time.Duration(0))
		cancel()
		for range wake {
		}
	})
}
