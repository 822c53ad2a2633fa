// Package load runs load tests: it repeats a call of a tool, several calls at the same time, and
// measures their latency.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// The limits of a Plan.
const (
	MaxCalls       = 100_000
	MaxConcurrency = 64
	MaxTime        = 10 * time.Minute
)

const (
	maxKinds = 20                     // of errors; further ones are counted together
	interval = 500 * time.Millisecond // between reports
	drain    = 5 * time.Second        // time for calls in flight after the time of the plan
)

// A Plan is the length and the concurrency of a load test.
type Plan struct {
	Calls       int           // maximum number of calls
	Concurrency int           // calls in flight at the same time
	Time        time.Duration // time after which no call begins
}

// Check returns a failure if the plan exceeds a limit.
func (p Plan) Check() error {
	switch {
	case p.Calls < 1 || p.Calls > MaxCalls:
		return command.BadArgs("the number of calls must be from 1 to %d", MaxCalls)
	case p.Concurrency < 1 || p.Concurrency > MaxConcurrency:
		return command.BadArgs("the number of calls at the same time must be from 1 to %d",
			MaxConcurrency)
	case p.Time <= 0 || p.Time > MaxTime:
		return command.BadArgs("the time must be more than 0 and at most %s",
			command.ShortDuration(MaxTime))
	}
	return nil
}

// A Report has the results of a load test so far. Latencies are in milliseconds and include those
// of failed calls.
type Report struct {
	Done       bool           `json:"done"` // false while it runs
	Calls      int            `json:"calls"`
	Errors     int            `json:"errors"`
	Kinds      map[string]int `json:"kinds"`                // how many errors of each kind
	Unanswered int            `json:"unanswered,omitempty"` // calls that were in flight at the end
	Seconds    float64        `json:"seconds"`
	PerSecond  float64        `json:"per_second"`
	P50Ms      float64        `json:"p50_ms"`
	P95Ms      float64        `json:"p95_ms"`
	P99Ms      float64        `json:"p99_ms"`
	MaxMs      float64        `json:"max_ms"`
}

// A run is a load test in progress.
type run struct {
	plan  Plan
	send  func(context.Context) error
	began time.Time

	mu         sync.Mutex
	started    int
	unanswered int
	errors     int
	kinds      map[string]int
	durations  []float64
	last       time.Time // the end of the last call
}

// Run runs the load test of a plan, which Check has accepted. It calls send for each call, passes a
// report to show twice a second, and returns the last report. When ctx ends, no further call
// begins, and calls in flight are cancelled. After the time of the plan, calls in flight get 5 more
// seconds.
func Run(ctx context.Context, p Plan, send func(context.Context) error, show func(Report)) Report {
	r := &run{plan: p, send: send, began: time.Now(), kinds: map[string]int{}}
	ending, cancel := context.WithTimeout(ctx, p.Time+drain)
	defer cancel()
	var workers sync.WaitGroup
	for range min(p.Concurrency, p.Calls) {
		workers.Go(func() {
			for r.next(ctx) {
				r.call(ending)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			report := r.report()
			report.Done = true
			return report
		case <-ticker.C:
			show(r.report())
		}
	}
}

// next reports whether another call may begin, and counts it.
func (r *run) next(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil || r.started == r.plan.Calls || time.Since(r.began) >= r.plan.Time {
		return false
	}
	r.started++
	return true
}

func (r *run) call(ctx context.Context) {
	began := time.Now()
	err := r.send(ctx)
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		r.unanswered++
		return
	}
	r.last = now
	r.durations = append(r.durations, command.Milliseconds(now.Sub(began)))
	if err == nil {
		return
	}
	r.errors++
	kind := kindOf(err)
	if r.kinds[kind] == 0 && len(r.kinds) >= maxKinds {
		kind = "other errors"
	}
	r.kinds[kind]++
}

func (r *run) report() Report {
	r.mu.Lock()
	sorted := slices.Clone(r.durations)
	report := Report{Calls: len(sorted), Errors: r.errors, Kinds: maps.Clone(r.kinds),
		Unanswered: r.unanswered}
	if len(sorted) > 0 {
		report.Seconds = r.last.Sub(r.began).Seconds()
	}
	r.mu.Unlock()
	slices.Sort(sorted)
	if report.Seconds > 0 {
		report.PerSecond = float64(report.Calls) / report.Seconds
	}
	report.P50Ms, report.P95Ms = tap.Percentile(sorted, 0.50), tap.Percentile(sorted, 0.95)
	report.P99Ms, report.MaxMs = tap.Percentile(sorted, 0.99), tap.Percentile(sorted, 1)
	return report
}

// errToolFailed is the error of a call whose result has isError.
var errToolFailed = errors.New("the tool reports an error")

// ResultError returns the error of a call of a tool: err, or an error if the result has isError.
func ResultError(result json.RawMessage, err error) error {
	if err == nil && string(jsonscan.Member(result, "isError")) == "true" {
		return errToolFailed
	}
	return err
}

// kindOf returns the kind under which an error is counted.
func kindOf(err error) string {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return fmt.Sprintf("JSON-RPC error %d: %s", e.Code,
			printable.TruncateRunes(printable.Line(e.Message), 100))
	}
	if f := target.Explain(err); f != nil {
		return f.Code
	}
	return printable.TruncateRunes(printable.Line(err.Error()), 100)
}
