// Package otlp sends telemetry to a collector by OTLP/HTTP with JSON, and reads the OTEL_ variables
// that say where to.
//
// An [Exporter] sends payloads from one goroutine, out of a queue. A collector that is slow or does
// not answer delays nobody: when the queue is full, its oldest payloads are dropped and counted.
package otlp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// The limits of the queue.
const (
	maxQueued = 256      // payloads
	maxBytes  = 16 << 20 // of all payloads
)

// A payload is a request to be sent.
type payload struct {
	to   *destination
	body []byte
}

// An Exporter sends payloads to a collector. Its methods may be called concurrently.
type Exporter struct {
	log    *slog.Logger
	cancel context.CancelFunc // ends run at once
	done   chan struct{}      // closed when run has returned

	traces, metrics *destination // nil if they are not exported

	mu      sync.Mutex
	queue   []payload
	size    int           // of queue, in bytes
	added   chan struct{} // has a value when the queue is not empty or closed is set
	closed  bool
	dropped int64

	reports reports // only for run
}

// Start returns an exporter for the signals of c that have a URL. The caller closes it.
func Start(c *Config, log *slog.Logger) *Exporter {
	return start(c, log, func(*http.Transport) {})
}

// start starts an exporter whose connections are made as modify sets.
func start(c *Config, log *slog.Logger, modify func(*http.Transport)) *Exporter {
	x := &Exporter{log: log, done: make(chan struct{}), added: make(chan struct{}, 1),
		traces:  newDestination("traces", c.Traces, c.Batch.Timeout),
		metrics: newDestination("metrics", c.Metrics, c.Batch.Timeout)}
	for _, d := range x.destinations() {
		modify(d.transport)
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	go x.run(ctx)
	return x
}

// Traces queues a request for traces, in the JSON of OTLP. It does not block, and owns body.
func (x *Exporter) Traces(body []byte) { x.enqueue(payload{x.traces, body}) }

// Metrics queues a request for metrics as [Exporter.Traces] does.
func (x *Exporter) Metrics(body []byte) { x.enqueue(payload{x.metrics, body}) }

// enqueue adds a payload, and drops the oldest ones if there are too many.
func (x *Exporter) enqueue(p payload) {
	if p.to == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || len(p.body) > maxBytes {
		x.dropped++
		return
	}
	x.queue = append(x.queue, p)
	x.size += len(p.body)
	for len(x.queue) > maxQueued || x.size > maxBytes {
		x.size -= len(x.queue[0].body)
		x.queue[0] = payload{} // append reuses the array for a while
		x.queue = x.queue[1:]
		x.dropped++
	}
	x.wake()
}

// wake makes run look at the queue. The caller holds mu.
func (x *Exporter) wake() {
	select {
	case x.added <- struct{}{}:
	default:
	}
}

// next removes the first payload. more is false if there is none and none will come.
func (x *Exporter) next() (p payload, ok, more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return p, false, !x.closed
	}
	p, x.queue[0] = x.queue[0], payload{}
	x.queue = x.queue[1:]
	x.size -= len(p.body)
	return p, true, true
}

// run sends payloads until ctx ends, or until the exporter is closed and the queue is empty.
func (x *Exporter) run(ctx context.Context) {
	defer close(x.done)
	for ctx.Err() == nil {
		p, ok, more := x.next()
		if !ok && !more {
			return
		}
		if !ok {
			select {
			case <-x.added:
			case <-ctx.Done():
			}
			continue
		}
		rejected, err := p.to.send(ctx, p.body)
		if err != nil {
			x.mu.Lock()
			x.dropped++
			x.mu.Unlock()
		}
		if ctx.Err() == nil {
			x.report(p.to, rejected, err)
		}
	}
}

// Dropped returns the number of payloads that were not sent.
func (x *Exporter) Dropped() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dropped
}

// Close sends what is queued until ctx ends, and drops the rest. It returns when the goroutine has
// ended.
func (x *Exporter) Close(ctx context.Context) {
	x.mu.Lock()
	x.closed = true
	x.wake()
	x.mu.Unlock()
	select {
	case <-x.done:
	case <-ctx.Done():
	}
	x.cancel()
	<-x.done
	x.mu.Lock()
	x.dropped += int64(len(x.queue))
	x.queue, x.size = nil, 0
	dropped := x.dropped
	x.mu.Unlock()
	for _, d := range x.destinations() {
		d.transport.CloseIdleConnections()
	}
	if dropped > x.reports.dropped {
		x.log.Warn("telemetry was not exported", "payloads", dropped-x.reports.dropped)
	}
}

func (x *Exporter) destinations() (all []*destination) {
	for _, d := range []*destination{x.traces, x.metrics} {
		if d != nil {
			all = append(all, d)
		}
	}
	return all
}

// reports limits how often the log says the same.
type reports struct {
	last    time.Time
	dropped int64 // payloads that a line was about
}

// reportInterval is the least time between two lines about a collector.
const reportInterval = time.Minute

// report logs what a collector did not accept. rejected is its explanation, or "".
func (x *Exporter) report(d *destination, rejected string, err error) {
	dropped := x.Dropped()
	if rejected == "" && dropped == x.reports.dropped ||
		!x.reports.last.IsZero() && time.Since(x.reports.last) < reportInterval {
		return
	}
	args := []any{"signal", d.signal, "collector", d.name}
	if n := dropped - x.reports.dropped; n > 0 {
		args = append(args, "payloads", n)
	}
	if err != nil {
		args = append(args, "error", err)
	}
	if rejected != "" {
		args = append(args, "rejected", rejected)
	}
	x.log.Warn("telemetry was not exported", args...)
	x.reports.last, x.reports.dropped = time.Now(), dropped
}
