package telemetry

import (
	"log/slog"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// String returns all metrics as a JSON object, so that a Telemetry is an expvar.Var. Each metric is
// a list of its series, objects with "attributes" and either "value" or "count" and "sum".
func (t *Telemetry) String() string {
	b := []byte{'{'}
	for i, m := range t.metrics() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, m.Name), ":["...)
		for i, p := range m.Points {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendObject(append(b, `{"attributes":`...), p.Attributes), ',')
			if m.Type == histogramMetric {
				b = appendDouble(append(b, `"count":`...), float64(p.count()))
				b = append(b, `,"sum":`...)
			} else {
				b = append(b, `"value":`...)
			}
			b = append(appendDouble(b, p.Value), '}')
		}
		b = append(b, ']')
	}
	return string(append(b, '}'))
}

func appendObject(b []byte, attrs []slog.Attr) []byte {
	b = append(b, '{')
	for i, a := range attrs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonscan.AppendString(b, a.Key), ':')
		b = jsonscan.AppendString(b, a.Value.Resolve().String())
	}
	return append(b, '}')
}
