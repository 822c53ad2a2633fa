package telemetry

import (
	"bytes"
	"cmp"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// PrometheusContentType is the media type of the output of [Telemetry.WritePrometheus].
const PrometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

// WritePrometheus writes all metrics in the text format of Prometheus, version 0.0.4, with names by
// OpenTelemetry's compatibility rules: mcp.server.operation.duration is
// mcp_server_operation_duration_seconds. The resource is the metric target_info. WritePrometheus
// returns the error of w, which it calls once.
func (t *Telemetry) WritePrometheus(w io.Writer) error {
	b := t.appendPrometheus(nil)
	_, err := w.Write(b)
	return err
}

func (t *Telemetry) appendPrometheus(b []byte) []byte {
	if len(t.o.Resource) > 0 {
		b = append(b, "# HELP target_info The resource that the metrics are of.\n"+
			"# TYPE target_info gauge\ntarget_info"...)
		b = append(appendLabels(b, t.o.Resource, ""), " 1\n"...)
	}
	for _, m := range t.metrics() {
		name := prometheusName(m.Instrument, m.Type)
		if m.Description != "" {
			b = append(append(append(b, "# HELP "...), name...), ' ')
			b = append(helpEscapes.appendTo(b, m.Description), '\n')
		}
		b = append(append(append(b, "# TYPE "...), name...), ' ')
		b = append(append(b, prometheusTypes[m.Type]...), '\n')
		for _, p := range m.Points {
			b = p.appendPrometheus(b, name, m.Type)
		}
	}
	return b
}

var prometheusTypes = map[metricType]string{counterMetric: "counter", gaugeMetric: "gauge",
	histogramMetric: "histogram"}

func (p *point) appendPrometheus(b []byte, name string, kind metricType) []byte {
	if kind != histogramMetric {
		b = appendLabels(append(b, name...), p.Attributes, "")
		return append(appendSample(append(b, ' '), p.Value), '\n')
	}
	total := uint64(0)
	for i, n := range p.Buckets {
		total += n
		le := "+Inf"
		if i < len(durationBounds) {
			le = strconv.FormatFloat(durationBounds[i].Seconds(), 'g', -1, 64)
		}
		b = appendLabels(append(append(b, name...), "_bucket"...), p.Attributes, le)
		b = append(strconv.AppendUint(append(b, ' '), total, 10), '\n')
	}
	b = appendLabels(append(append(b, name...), "_sum"...), p.Attributes, "")
	b = append(appendSample(append(b, ' '), p.Value), '\n')
	b = appendLabels(append(append(b, name...), "_count"...), p.Attributes, "")
	return append(strconv.AppendUint(append(b, ' '), total, 10), '\n')
}

func appendSample(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// appendLabels appends the labels of a sample, and the label le unless it is "". The values of
// attributes whose names become equal are joined by a semicolon.
func appendLabels(b []byte, attrs []slog.Attr, le string) []byte {
	type label struct{ name, value string }
	labels := make([]label, 0, len(attrs)+1)
	for _, a := range attrs {
		name, value := labelName(a.Key), a.Value.Resolve().String()
		i := slices.IndexFunc(labels, func(l label) bool { return l.name == name })
		if i >= 0 {
			labels[i].value += ";" + value
		} else {
			labels = append(labels, label{name, value})
		}
	}
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	if le != "" {
		labels = append(labels, label{"le", le})
	}
	if len(labels) == 0 {
		return b
	}
	for i, l := range labels {
		b = append(b, "{,"[min(i, 1)])
		b = append(append(b, l.name...), `="`...)
		b = append(valueEscapes.appendTo(b, l.value), '"')
	}
	return append(b, '}')
}

// escapes are the characters that are escaped by a backslash.
type escapes string

const (
	helpEscapes  escapes = `\`
	valueEscapes escapes = `\"`
)

func (e escapes) appendTo(b []byte, text string) []byte {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			b = append(b, `\n`...)
		case strings.IndexByte(string(e), c) >= 0:
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// units are the names of Prometheus for the units of UCUM.
var units = map[string]string{"s": "seconds", "ms": "milliseconds", "By": "bytes", "1": "ratio"}

// prometheusName returns the name of a metric (OpenTelemetry, Prometheus and OpenMetrics
// Compatibility, "Metric Metadata").
func prometheusName(i Instrument, kind metricType) string {
	name := labelName(i.Name)
	unit := units[i.Unit]
	if unit == "ratio" && kind != gaugeMetric {
		unit = ""
	}
	if unit != "" && !strings.HasSuffix(name, "_"+unit) {
		name += "_" + unit
	}
	if kind == counterMetric && !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	return name
}

// labelName replaces each run of characters that are not letters, digits or underscores by one
// underscore.
func labelName(name string) string {
	var b bytes.Buffer
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			b.WriteRune(c)
		case '0' <= c && c <= '9':
			if b.Len() == 0 {
				b.WriteString("key_")
			}
			b.WriteRune(c)
		case !bytes.HasSuffix(b.Bytes(), []byte("_")):
			b.WriteByte('_')
		}
	}
	if strings.Trim(b.String(), "_") == "" {
		return "key"
	}
	return b.String()
}
