package telemetry

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// A Sampler decides which traces are recorded. The zero Sampler records traces whose parent is
// sampled, and traces without a parent: parentbased_always_on.
type Sampler struct {
	drop         uint64 // traces whose number is less are not recorded; see threshold
	ignoreParent bool
}

// samplers maps the names of OTEL_TRACES_SAMPLER.
var samplers = map[string]struct {
	ignoreParent, takesRatio bool
	ratio                    float64
}{
	"always_on":                {ignoreParent: true, ratio: 1},
	"always_off":               {ignoreParent: true},
	"traceidratio":             {ignoreParent: true, takesRatio: true},
	"parentbased_always_on":    {ratio: 1},
	"parentbased_always_off":   {},
	"parentbased_traceidratio": {takesRatio: true},
}

// ParseSampler returns the sampler with a name of the variable OTEL_TRACES_SAMPLER: always_on,
// always_off, traceidratio, or one of these after parentbased_. The argument is that of
// OTEL_TRACES_SAMPLER_ARG, the share of traces to record, from 0 to 1; "" is 1. Only traceidratio
// uses it. The name "" is the zero Sampler.
func ParseSampler(name, argument string) (Sampler, error) {
	if name == "" {
		return Sampler{}, nil
	}
	row, ok := samplers[name]
	if !ok {
		return Sampler{}, fmt.Errorf("telemetry: the sampler %.50q is unknown: "+
			"want always_on, always_off, traceidratio, or one of them after parentbased_", name)
	}
	if row.takesRatio {
		row.ratio = 1
		if argument != "" {
			ratio, err := strconv.ParseFloat(argument, 64)
			if err != nil || !(ratio >= 0 && ratio <= 1) {
				return Sampler{}, fmt.Errorf(
					"telemetry: the argument of the sampler %s is %.50q: want a number from 0 to 1",
					name, argument)
			}
			row.ratio = ratio
		}
	}
	return Sampler{drop: dropBelow(row.ratio), ignoreParent: row.ignoreParent}, nil
}

// dropBelow returns the threshold that records a share of all traces.
func dropBelow(ratio float64) uint64 {
	return uint64(math.Round((1 - ratio) * (1 << 56)))
}

// samples decides about a span without a parent, or with an ignored one. It uses the 56 bits that
// are random in a trace ID (W3C Trace Context Level 2), so that all processes with the same ratio
// decide alike.
func (s Sampler) samples(id TraceID) bool {
	return binary.BigEndian.Uint64(id[8:])&(1<<56-1) >= s.drop
}

// child returns the context of a new span.
func (s Sampler) child(parent *SpanContext) SpanContext {
	c := SpanContext{Trace: parent.Trace, Span: newSpanID(), Sampled: parent.Sampled,
		State: parent.State}
	root := !parent.IsValid()
	if root {
		c.Trace, c.State = newTraceID(), ""
	}
	if root || s.ignoreParent {
		c.Sampled = s.samples(c.Trace)
	}
	return c
}
