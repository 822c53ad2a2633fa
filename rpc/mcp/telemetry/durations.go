package telemetry

import "log/slog"

// addDurations adds the histograms of the semantic conventions.
func (t *Telemetry) addDurations() {
	add := func(name, description string) *vector[operationKey, histogram] {
		v := newVector[operationKey, histogram](t.o.MaxSeries, operationKey.attrs)
		t.addSource(metricSource{Instrument{Name: name, Unit: "s", Description: description},
			histogramMetric, func() (points []point) {
				v.each(func(attrs []slog.Attr, h *histogram) {
					counts, sum := h.buckets()
					points = append(points, point{Attributes: attrs, Value: sum, Buckets: counts})
				})
				return points
			}})
		return v
	}
	t.durations = [...]*vector[operationKey, histogram]{
		SpanKindServer: add("mcp.server.operation.duration",
			"How long the receiver of an MCP request or notification took to handle it."),
		SpanKindClient: add("mcp.client.operation.duration",
			"How long the sender of an MCP request or notification waited for the response."),
		SpanKindInternal: add("stdwire.operation.duration",
			"How long an operation that was called without MCP took."),
	}
	t.sessions = [...]*vector[operationKey, histogram]{
		SpanKindServer: add("mcp.server.session.duration",
			"How long an MCP session lasted, as seen by the server."),
		SpanKindClient: add("mcp.client.session.duration",
			"How long an MCP session lasted, as seen by the client."),
	}
	t.addSource(metricSource{Instrument{Name: "stdwire.telemetry.spans.dropped", Unit: "{span}",
		Description: "Spans dropped because the queue was full."}, counterMetric,
		func() []point { return []point{{Value: float64(t.droppedSpans())}} }})
}
