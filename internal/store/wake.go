package store

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
)

const (
	// wakeInterval is how often who follows a log is woken at least, in case a message was lost.
	wakeInterval = 15 * time.Second
	// subscribePause is the longest pause before a subscription that has failed is tried again.
	subscribePause = 500 * time.Millisecond
)

// AppendAndWake appends an event to a log, and wakes who follows it with [Wake]. That nobody could
// be woken is no error: the others look at the log a little later.
func AppendAndWake(ctx context.Context, s Store, key string, event []byte, b LogBounds) error {
	if _, err := s.Append(ctx, key, event, b); err != nil {
		return err
	}
	_ = s.Publish(ctx, key, nil)
	return nil
}

// Wake calls [wake.Up] with c whenever there may be something new in a log to which others append
// with [AppendAndWake]: also at first, when messages may be missing, and every 10 to 15 seconds. It
// returns when ctx ends.
func Wake(ctx context.Context, s Store, key string, c chan<- struct{}) {
	looked := time.Time{} // when who follows was woken
	send := func() {
		looked = time.Now()
		wake.Up(c)
	}
	for ctx.Err() == nil {
		subscription, err := s.Subscribe(ctx, key)
		if err == nil {
			send() // something may have been published before
			wakeBy(ctx, subscription, send)
			subscription.Close()
		} else if time.Since(looked) >= wakeInterval {
			send() // the store may forbid subscriptions only
		}
		select {
		case <-time.After(rand.N(subscribePause)):
		case <-ctx.Done():
		}
	}
}

// wakeBy calls send for each message, and if there is none for a while, until the subscription or
// ctx ends.
func wakeBy(ctx context.Context, s Subscription, send func()) {
	for {
		limited, cancel := context.WithTimeout(ctx, wakeInterval*2/3+rand.N(wakeInterval/3))
		_, err := s.Next(limited)
		isOver := limited.Err() == nil && err != nil || ctx.Err() != nil
		cancel()
		if isOver {
			return
		}
		send()
	}
}
