package shared

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/wake"
)

const (
	keepers      = 32 // sessions that are kept at once
	longestPause = 5 * time.Second
)

// A Keeper keeps what a replica has of sessions in step with the store, every now and then, and all
// of them when notices were missed. What fails is tried again after a pause, which grows.
type Keeper[S any] struct {
	every    time.Duration
	sessions func() []S
	keep     func(ctx context.Context, session S, all bool) error
	missed   chan struct{}
}

// NewKeeper returns a keeper, which works once Run runs. keep keeps one session; all says that
// notices may have been missed. Its error is that of the store.
func NewKeeper[S any](every time.Duration, sessions func() []S,
	keep func(ctx context.Context, session S, all bool) error) *Keeper[S] {
	return &Keeper[S]{every, sessions, keep, make(chan struct{}, 1)}
}

// Missed says that notices may have been missed. It does not block.
func (k *Keeper[S]) Missed() { wake.Up(k.missed) }

// Run keeps sessions until ctx ends.
func (k *Keeper[S]) Run(ctx context.Context) {
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	var (
		again []S
		retry <-chan time.Time
		pause time.Duration
	)
	for all := false; ; {
		sessions := again
		select {
		case <-retry:
		case <-tick.C:
			sessions = nil
		case <-k.missed:
			sessions, all, pause = nil, true, 0
		case <-ctx.Done():
			return
		}
		if sessions == nil {
			sessions = k.sessions()
		}
		again = k.keepAll(ctx, sessions, all)
		if len(again) == 0 {
			again, retry, all, pause = nil, nil, false, 0
			continue
		}
		pause = min(2*pause+Pause(), longestPause)
		retry = time.After(pause)
	}
}

// keepAll keeps sessions, several at once, and returns those for which the store could not be used.
// While it cannot be reached, the others are not tried.
func (k *Keeper[S]) keepAll(ctx context.Context, sessions []S, all bool) (failed []S) {
	var (
		mu   sync.Mutex
		down atomic.Bool
		work = make(chan S)
		done sync.WaitGroup
	)
	for range min(keepers, len(sessions)) {
		done.Go(func() {
			for s := range work {
				if !down.Load() {
					err := k.keep(ctx, s, all)
					if err == nil {
						continue
					}
					if IsUnreachable(err) {
						down.Store(true)
					}
				}
				mu.Lock()
				failed = append(failed, s)
				mu.Unlock()
			}
		})
	}
	for _, s := range sessions {
		work <- s
	}
	close(work)
	done.Wait()
	return failed
}
