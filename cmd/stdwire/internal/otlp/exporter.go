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

	"github.com/stdwire/stdwire/internal/wake"
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
	e := &Exporter{log: log, done: make(chan struct{}), added: make(chan struct{}, 1),
		traces:  newDestination("traces", c.Traces, c.Batch.Timeout),
		metrics: newDestination("metrics", c.Metrics, c.Batch.Timeout)}
	for _, d := range e.destinations() {
		modify(d.transport)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	go e.run(ctx)
	return e
}

// Traces queues a request for traces, in the JSON of OTLP. It does not block, and owns body.
func (e *Exporter) Traces(body []byte) { e.enqueue(payload{e.traces, body}) }

// Metrics queues a request for metrics as [Exporter.Traces] does.
func (e *Exporter) Metrics(body []byte) { e.enqueue(payload{e.metrics, body}) }

// enqueue adds a payload, and drops the oldest ones if there are too many.
func (e *Exporter) enqueue(p payload) {
	if p.to == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(p.body) > maxBytes {
		e.dropped++
		return
	}
	e.queue = append(e.queue, p)
	e.size += len(p.body)
	for len(e.queue) > maxQueued || e.size > maxBytes {
		e.size -= len(e.queue[0].body)
		e.queue[0] = payload{} // append reuses the array for a while
		e.queue = e.queue[1:]
		e.dropped++
	}
	wake.Up(e.added)
}

// next removes the first payload. more is false if there is none and none will come.
func (e *Exporter) next() (p payload, ok, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return p, false, !e.closed
	}
	p, e.queue[0] = e.queue[0], payload{}
	e.queue = e.queue[1:]
	e.size -= len(p.body)
	return p, true, true
}

// run sends payloads until ctx ends, or until the exporter is closed and the queue is empty.
func (e *Exporter) run(ctx context.Context) {
	defer close(e.done)
	for ctx.Err() == nil {
		p, ok, more := e.next()
		if !ok && !more {
			return
		}
		if !ok {
			select {
			case <-e.added:
			case <-ctx.Done():
			}
			continue
		}
		rejected, err := p.to.send(ctx, p.body)
		if err != nil {
			e.mu.Lock()
			e.dropped++
			e.mu.Unlock()
		}
		if ctx.Err() == nil {
			e.report(p.to, rejected, err)
		}
	}
}

// Dropped returns the number of payloads that were not sent.
func (e *Exporter) Dropped() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dropped
}

// Close sends what is queued until ctx ends, and drops the rest. It returns when the goroutine has
// ended.
func (e *Exporter) Close(ctx context.Context) {
	e.mu.Lock()
	e.closed = true
	wake.Up(e.added)
	e.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	e.cancel()
	<-e.done
	e.mu.Lock()
	e.dropped += int64(len(e.queue))
	e.queue, e.size = nil, 0
	dropped := e.dropped
	e.mu.Unlock()
	for _, d := range e.destinations() {
		d.transport.CloseIdleConnections()
	}
	if dropped > e.reports.dropped {
		e.log.Warn("telemetry was not exported", "payloads", dropped-e.reports.dropped)
	}
}

func (e *Exporter) destinations() (all []*destination) {
	for _, d := range []*destination{e.traces, e.metrics} {
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
func (e *Exporter) report(d *destination, rejected string, err error) {
	dropped := e.Dropped()
	if rejected == "" && dropped == e.reports.dropped ||
		!e.reports.last.IsZero() && time.Since(e.reports.last) < reportInterval {
		return
	}
	args := []any{"signal", d.signal, "collector", d.name}
	if n := dropped - e.reports.dropped; n > 0 {
		args = append(args, "payloads", n)
	}
	if err != nil {
		args = append(args, "error", err)
	}
	if rejected != "" {
		args = append(args, "rejected", rejected)
	}
	e.log.Warn("telemetry was not exported", args...)
	e.reports.last, e.reports.dropped = time.Now(), dropped
}
