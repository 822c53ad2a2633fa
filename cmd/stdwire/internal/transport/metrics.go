package transport

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/connlimit"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// AddSessionMetrics adds the number of sessions to t, which may be nil. Each function of transports
// returns the current number of one transport.
func AddSessionMetrics(t *telemetry.Telemetry, transports map[string]func() int) {
	t.Gauge(telemetry.Instrument{Name: "stdwire.server.sessions", Unit: "{session}",
		Description: "Clients with a stream of their own, or a session over HTTP, by transport. Clients of the modern era have no sessions over HTTP.",
		Labels:      []string{"transport"}},
		func(set func(value float64, labels ...string)) {
			for name, open := range transports {
				set(float64(open()), name)
			}
		})
}

// addConnectionMetrics adds the numbers of open HTTP connections and streams to t, which may be
// nil.
func addConnectionMetrics(t *telemetry.Telemetry, l *connlimit.Listener, e *Endpoints) {
	for _, m := range []struct {
		telemetry.Instrument
		open func() int
	}{
		{telemetry.Instrument{Name: "stdwire.http.connections", Unit: "{connection}",
			Description: "Open connections of HTTP clients."},
			l.Open},
		{telemetry.Instrument{Name: "stdwire.http.streams", Unit: "{stream}",
			Description: "Open streams of sessions, and subscriptions of clients of the modern era."},
			func() int { return e.Stats().Streams }},
	} {
		t.Gauge(m.Instrument, func(set func(value float64, labels ...string)) {
			set(float64(m.open()))
		})
	}
}
