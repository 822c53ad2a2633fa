package rates

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
)

// A replica is a gateway's rates whose buckets are in a store.
type replica struct {
	*Rates
	call dispatch.Handler
}

// newReplica returns rates that are counted on a server.
func newReplica(t testing.TB, server *redistest.Server, rates string) *replica {
	s, err := store.Open("unix://"+server.Options.Address,
		store.Options{Secret: []byte("a secret of some length")})
	assert.NilError(t, err)
	t.Cleanup(s.Close)
	return replicaOf(t, s, rates)
}

func replicaOf(t testing.TB, s store.Store, rates string) *replica {
	r := &replica{Rates: New(nil)}
	r.Share(s, quiet)
	r.Set(configured(t, rates))
	r.call = r.Servers(func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		if string(i.Arguments) != "down" {
			markSent(ctx)
		}
		return nil, nil
	})
	return r
}

// tries calls a tool until a call is refused, and returns how many were not, and why.
func (r *replica) tries(tool dispatch.Invocation) (int, error) {
	return tries(r.call, context.Background(), tool)
}

// fails reports whether the last use of the store has failed.
func (r *replica) fails() bool {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	return r.shared.failing
}

// What two gateways admit together is within the rates, whoever calls at once.
func TestGatewaysShareRates(t *testing.T) {
	server := redistest.Start(t)
	const rates = `{"name": "a", "rate": "20/s", "burst": 50, "per": ["principal"], "costs": {"y": 2}},
		{"name": "q", "day": 100000}`
	gateways := []*replica{newReplica(t, server, rates), newReplica(t, server, rates)}
	var admitted atomic.Int64
	var callers sync.WaitGroup
	start := time.Now()
	for i := range 16 {
		callers.Go(func() {
			for n := range 20 {
				name := []string{"x", "y"}[n%2]
				in := tool("s", name, "ann")
				if n%5 == 0 { // it is refunded
					in.Arguments = []byte("down")
				}
				_, err := gateways[(i+n)%2].call(t.Context(), &in)
				switch {
				case err == nil && n%5 != 0:
					admitted.Add(int64(1 + n%2))
				case err != nil:
					assert.Check(t, strings.Contains(err.Error(), `the rate limit "a"`), err)
				}
			}
		})
	}
	callers.Wait()
	most := 50 + 20*time.Since(start).Seconds()
	got := admitted.Load()
	assert.Assert(t, got >= 20 && float64(got) <= most, "%d, want at most %f", got, most)
	assert.Assert(t, !gateways[0].fails())
	n, err := gateways[1].tries(tool("s", "x", "bob"))
	assert.Assert(t, n >= 50, "%d, %v", n, err)
}

// A call that did not reach its server, and a look at the rates, count nothing in the store.
func TestStoreRefunds(t *testing.T) {
	server := redistest.Start(t)
	const rates = `{"name": "a", "rate": "1/h", "burst": 5}, ` +
		`{"name": "c", "concurrent": 1, "wait": 0}`
	one, two := newReplica(t, server, rates), newReplica(t, server, rates)
	down := tool("s", "x", "ann")
	down.Arguments = []byte("down")
	for range 20 {
		in := down
		_, err := one.call(t.Context(), &in)
		assert.NilError(t, err)
	}
	n, err := two.tries(tool("s", "x", "ann"))
	assert.Equal(t, n, 5)
	assert.ErrorContains(t, err, `the rate limit "a" of 1/h is reached`)
	n, _ = one.tries(tool("s", "x", "ann"))
	assert.Equal(t, n, 0)
}

// While a store is down, a rate with replicas allows its part, and others nothing; so does a call
// that costs more than the part. A store that comes back, though empty, is used again.
func TestStoreIsDown(t *testing.T) {
	server := redistest.Start(t)
	const rates = `{"name": "part", "rate": "1/h", "burst": 10, "replicas": 3, "tools": ["x", "z"],
			"costs": {"z": 5}},
		{"name": "none", "rate": "1/h", "burst": 10, "tools": ["y"]}`
	r := newReplica(t, server, rates)
	n, _ := r.tries(tool("s", "x", "ann"))
	assert.Equal(t, n, 10)
	server.Kill()
	eventually.True(t, "the failure is noticed", func() bool {
		in := tool("s", "y", "ann")
		_, err := r.call(t.Context(), &in)
		if err != nil {
			assert.Assert(t, errors.Is(err, dispatch.TooManyRequests), err)
			assert.ErrorContains(t, err,
				`"none" cannot be counted now, because the store that it is in does not answer; try again in 2 s`)
		}
		return err != nil && r.fails()
	})
	in := tool("s", "z", "ann")
	_, err := r.call(t.Context(), &in)
	assert.ErrorContains(t, err, `"part" cannot be counted now`)
	for _, want := range []int{4, 0} {
		n, err = r.tries(tool("s", "x", "ann"))
		assert.Equal(t, n, want)
		assert.ErrorContains(t, err, `the rate limit "part" of 1/h is reached`)
	}
	n, err = r.tries(tool("s", "free", "ann"))
	assert.Equal(t, n, 1000, err)

	server.Restart()
	eventually.True(t, "the store is used again", func() bool {
		in := tool("s", "free", "ann")
		_, err := r.call(t.Context(), &in)
		assert.NilError(t, err)
		return !r.fails()
	})
	n, _ = r.tries(tool("s", "x", "ann"))
	assert.Equal(t, n, 10)
	n, _ = r.tries(tool("s", "y", "ann"))
	assert.Equal(t, n, 10)
}

// The pause that a server asks one gateway for is kept by the other, without a call to the server.
func TestGatewaysSharePauses(t *testing.T) {
	server := redistest.Start(t)
	posts := 0
	var calls []dispatch.Handler
	for range 2 {
		r := newReplica(t, server, `{"name": "r", "day": 1000}`)
		calls = append(calls, r.Servers(
			func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
				posts++
				return nil, &streamable.StatusError{Status: http.StatusTooManyRequests,
					Header: http.Header{"Retry-After": {"600"}}}
			}))
	}
	for i, want := range []string{"429", "has asked for a pause", "has asked for a pause"} {
		in := tool("a", "x", "ann")
		_, err := calls[min(i, 1)](t.Context(), &in)
		assert.ErrorContains(t, err, want)
	}
	assert.Equal(t, posts, 1)
	server.Kill() // what is known of the pause stays
	in := tool("a", "x", "ann")
	_, err := calls[1](t.Context(), &in)
	assert.ErrorContains(t, err, "has asked for a pause")
	assert.Equal(t, posts, 1)
}

// A silentStore never answers.
type silentStore struct {
	store.Store
	asked chan struct{}
}

func (s silentStore) Charge(ctx context.Context, _ string, _ []rate.Charge) (int, time.Duration,
	error) {
	s.asked <- struct{}{}
	<-ctx.Done()
	return 0, 0, context.Cause(ctx)
}

// A caller that leaves says nothing about the store. A store that does not answer in time gets one
// call at a time from then on, and not at once.
func TestSilentStore(t *testing.T) { synctest.Test(t, testSilentStore) }

func testSilentStore(t *testing.T) {
	s := silentStore{asked: make(chan struct{}, 1000)}
	r := replicaOf(t, s, `{"name": "a", "day": 1000, "replicas": 1}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	go func() { <-s.asked; cancel(gone) }()
	in := tool("s", "x", "ann")
	_, err := r.call(ctx, &in)
	assert.ErrorIs(t, err, gone)
	assert.Assert(t, !r.fails())

	in = tool("s", "x", "ann")
	_, err = r.call(t.Context(), &in)
	assert.NilError(t, err)
	assert.Assert(t, r.fails())
	assert.Equal(t, len(s.asked), 1)
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			in := tool("s", "x", "ann")
			_, err := r.call(t.Context(), &in)
			assert.Check(t, err)
		})
	}
	callers.Wait()
	assert.Equal(t, len(s.asked), 1) // it rests
	assert.Assert(t, r.DoesWithout())
	time.Sleep(2 * minRest)
	assert.Assert(t, !r.DoesWithout()) // the next call tries
	for range 100 {
		callers.Go(func() {
			in := tool("s", "x", "ann")
			_, err := r.call(t.Context(), &in)
			assert.Check(t, err)
		})
	}
	callers.Wait()
	assert.Equal(t, len(s.asked), 2)
}

// A recoveredStore takes a while to answer.
type recoveredStore struct {
	store.Store
	begun chan struct{}
}

func (s recoveredStore) Charge(ctx context.Context, _ string, _ []rate.Charge) (int,
	time.Duration, error) {
	s.begun <- struct{}{}
	select {
	case <-time.After(storeTimeout / 2):
		return 0, 0, nil
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
}

// A caller that tries the store again and leaves does not keep the others from it.
func TestTryAgainAndLeave(t *testing.T) { synctest.Test(t, testTryAgainAndLeave) }

func testTryAgainAndLeave(t *testing.T) {
	s := recoveredStore{begun: make(chan struct{}, 10)}
	r := replicaOf(t, s, `{"name": "a", "day": 1000, "replicas": 1}`)
	r.shared.tried(errors.New("it fails"))
	time.Sleep(2 * minRest)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.begun; cancel() }()
	in := tool("s", "x", "ann")
	_, _ = r.call(ctx, &in)
	assert.Assert(t, ctx.Err() != nil && !r.fails())
}
