package gateway

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host"
)

// retries is a log that counts the lines on subscriptions that are retried.
type retries struct{ atomic.Int32 }

func (r *retries) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("have failed and are retried")) {
		r.Add(1)
	}
	return len(line), nil
}

// Subscriptions are retried after a pause, the first time, too, and at once when they change.
func TestSubscriptionRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log retries
		manager := host.NewManager(nil)
		defer manager.Close()
		u := &upstreamServer{id: "gone", ctx: t.Context(), g: &Gateway{manager: manager,
			o: Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}},
			subscriptions: subscriptions{wanted: make(chan struct{}, 1),
				changed: make(chan struct{}, 1)}}
		u.subscriptions.set([]string{"mem://a"})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			u.keepSubscribed()
		}()
		failures := func() int32 {
			synctest.Wait()
			return log.Load()
		}
		assert.Check(t, cmp.Equal(failures(), int32(1)))
		time.Sleep(resubscribeDelay)
		assert.Check(t, cmp.Equal(failures(), int32(2)))
		u.subscriptions.set([]string{"mem://b"})
		assert.Check(t, cmp.Equal(failures(), int32(3)))
		u.subscriptions.set(nil)
		<-ended
	})
}
