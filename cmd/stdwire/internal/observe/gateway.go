package observe

import (
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// gatewayMetrics are the values that are read from a gateway when metrics are exported. Their
// labels are the IDs of configured servers, and words of this program.
var gatewayMetrics = []struct {
	instrument telemetry.Instrument
	read       func(g *gateway.Gateway, set func(value float64, labels ...string))
}{
	{telemetry.Instrument{Name: "stdwire.gateway.servers", Unit: "{server}",
		Description: "Processes and connections of each configured server, by state.",
		Labels:      []string{"server", "state"}},
		func(g *gateway.Gateway, set func(float64, ...string)) {
			type key struct{ id, state string }
			n := make(map[key]float64)
			for _, s := range g.Manager().Status() {
				n[key{s.ID, string(s.State)}]++
			}
			for k, count := range n {
				set(count, k.id, k.state)
			}
		}},
	{telemetry.Instrument{Name: "stdwire.gateway.server.restarts", Unit: "{restart}",
		Description: "How often a configured server was started again after a failure.",
		Labels:      []string{"server"}},
		eachServer(func(s host.Status) int { return s.Restarts })},
	{telemetry.Instrument{Name: "stdwire.gateway.server.uses", Unit: "{use}",
		Description: "Calls and other uses of a configured server that are in progress.",
		Labels:      []string{"server"}},
		eachServer(func(s host.Status) int { return s.Uses })},
	{telemetry.Instrument{Name: "stdwire.gateway.withheld", Unit: "{definition}",
		Description: "Tools, prompts, resources and templates that are not offered, by reason.",
		Labels:      []string{"server", "kind", "reason"}},
		func(g *gateway.Gateway, set func(float64, ...string)) {
			type key struct{ id, kind, reason string }
			n := make(map[key]float64)
			for id, some := range g.Withheld() {
				for _, w := range some {
					n[key{id, string(w.Kind), string(w.Reason)}]++
				}
			}
			for k, count := range n {
				set(count, k.id, k.kind, k.reason)
			}
		}},
}

// eachServer returns a function that adds up a number of each server over its sessions.
func eachServer(number func(host.Status) int) func(*gateway.Gateway,
	func(float64, ...string)) {
	return func(g *gateway.Gateway, set func(float64, ...string)) {
		n := make(map[string]float64)
		for _, s := range g.Manager().Status() {
			n[s.ID] += float64(number(s))
		}
		for id, sum := range n {
			set(sum, id)
		}
	}
}

// Gateway records the metrics of a gateway.
func (r *Recorder) Gateway(g *gateway.Gateway) {
	if !r.records() {
		return
	}
	for _, m := range gatewayMetrics {
		r.Gauge(m.instrument, func(set func(value float64, labels ...string)) { m.read(g, set) })
	}
}
