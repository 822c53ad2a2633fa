package telemetry

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a [Telemetry]. The zero value is ready to use.
type Options struct {
	// Resource are the attributes of the process, such as service.name and service.version, which
	// all spans and metrics have.
	Resource []slog.Attr
	// Sampler decides which traces are recorded.
	Sampler Sampler
	// MaxSpans and MaxSpanBytes bound the finished spans that wait for [Telemetry.TakeSpans]; 0:
	// 2048 spans and 4 MiB. A negative MaxSpans keeps none: trace contexts are passed on unchanged,
	// and only metrics are recorded.
	MaxSpans, MaxSpanBytes int
	// MaxSeries is the number of series of one instrument; 0: 2000.
	MaxSeries int
}

// A Telemetry records spans and metrics. Its methods are safe for concurrent use. The methods of a
// nil *Telemetry that make middleware return middleware that does nothing.
type Telemetry struct {
	o     Options
	start time.Time
	queue spanQueue

	methods, tools, prompts names
	none                    names // always empty, for targets whose names are not known

	instruments instruments
	endpoints   table[Endpoint, *Endpoint]
	// by the kind of the span, set by New
	durations, sessions [SpanKindClient + 1]*vector[operationKey, histogram]

	mu      sync.Mutex
	watched map[connection]struct{} // those whose session has not ended
}

// New returns a Telemetry with these options.
func (o Options) New() *Telemetry {
	o.Resource = slices.Clone(o.Resource)
	o.MaxSpans = cmp.Or(o.MaxSpans, 2048)
	o.MaxSpanBytes = cmp.Or(max(o.MaxSpanBytes, 0), 4<<20)
	o.MaxSeries = cmp.Or(max(o.MaxSeries, 0), 2000)
	t := &Telemetry{o: o, start: time.Now(), watched: map[connection]struct{}{}}
	t.queue.init(o.MaxSpans, o.MaxSpanBytes)
	t.addDurations()
	return t
}
