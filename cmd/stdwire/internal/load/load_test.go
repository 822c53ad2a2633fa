package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// slowCall returns a call that takes some time, unless it is cancelled, and is counted.
func slowCall(d time.Duration, calls *inflight.Count) func(context.Context) error {
	return func(ctx context.Context) error {
		defer calls.Begin()()
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestRunCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls inflight.Count
		shown := 0
		got := Run(t.Context(), Plan{Calls: 20, Concurrency: 4, Time: time.Minute},
			slowCall(200*time.Millisecond, &calls), func(r Report) {
				shown++
				assert.Assert(t, !r.Done && r.Calls <= 20)
			})
		assert.Equal(t, calls.Most(), 4)
		assert.Assert(t, shown >= 1) // at 500 ms, and perhaps at the end
		assert.DeepEqual(t, got, Report{Done: true, Calls: 20, Kinds: map[string]int{}, Seconds: 1,
			PerSecond: 20, P50Ms: 200, P95Ms: 200, P99Ms: 200, MaxMs: 200})
	})
}

// When the time is over no call begins, and those that last too long after it are cancelled.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls inflight.Count
		began := time.Now()
		plan := Plan{Calls: MaxCalls, Concurrency: 2, Time: 10 * time.Second}
		got := Run(t.Context(), plan, slowCall(3*time.Second, &calls),
			func(Report) {})
		assert.Equal(t, time.Since(began), 12*time.Second)
		assert.Equal(t, got.Calls, 8)
		assert.Equal(t, got.Unanswered, 0)

		began = time.Now()
		got = Run(t.Context(), plan, slowCall(time.Hour, &calls),
			func(Report) {})
		assert.Equal(t, time.Since(began), plan.Time+drain)
		assert.Equal(t, got.Calls, 0)
		assert.Equal(t, got.Unanswered, 2)
	})
}

func TestRunStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls inflight.Count
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, cancel)
		began := time.Now()
		got := Run(ctx, Plan{Calls: 100, Concurrency: 3, Time: time.Minute},
			slowCall(time.Second, &calls), func(Report) {})
		assert.Equal(t, time.Since(began), 2500*time.Millisecond)
		assert.Equal(t, got.Calls, 6)
		assert.Equal(t, got.Unanswered, 3)
		assert.Equal(t, calls.Now(), 0)
	})
}

// Errors are counted by kind, and the number of kinds is limited.
func TestRunCountsErrors(t *testing.T) {
	n := 0
	got := Run(t.Context(), Plan{Calls: 40, Concurrency: 1, Time: time.Minute},
		func(context.Context) error {
			switch n++; {
			case n <= 3:
				return ResultError(json.RawMessage(`{"isError":true}`), nil)
			case n <= 5:
				return fmt.Errorf("call: %w", &rpc.Error{Code: -32602, Message: "bad\x1b[1m"})
			case n <= 10:
				return ResultError(json.RawMessage(`{"isError":false}`), nil)
			}
			return errors.New(fmt.Sprint("number ", n))
		}, func(Report) {})
	assert.Equal(t, got.Calls, 40)
	assert.Equal(t, got.Errors, 35)
	assert.Equal(t, got.Kinds["the tool reports an error"], 3)
	assert.Equal(t, got.Kinds["JSON-RPC error -32602: "+printable.Line("bad\x1b[1m")], 2)
	assert.Equal(t, got.Kinds["number 11"], 1)
	assert.Equal(t, got.Kinds["other errors"], 12)
	assert.Equal(t, len(got.Kinds), maxKinds+1)
}

func TestPlanLimits(t *testing.T) {
	good := Plan{Calls: MaxCalls, Concurrency: MaxConcurrency, Time: MaxTime}
	assert.NilError(t, good.Check())
	for want, bad := range map[string]Plan{
		"number of calls must be":          {0, 1, 1},
		"number of calls must be from":     {MaxCalls + 1, 1, 1},
		"number of calls at the same time": {1, MaxConcurrency + 1, 1},
		"the same time must be from 1":     {1, 0, 1},
		"time must be more than 0":         {1, 1, 0},
		"at most 10m":                      {1, 1, MaxTime + 1},
	} {
		assert.ErrorContains(t, bad.Check(), want)
	}
}
