package telemetry

import (
	"encoding/hex"
	"log/slog"
	"math"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const module = "github.com/stdwire/stdwire"

// version is the version of this module in the running program, or "".
var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "(devel)" {
				return m.Version
			}
		}
	}
	return ""
})

// AppendTraces appends an ExportTraceServiceRequest of OTLP in JSON, without line breaks: the body
// of a POST to /v1/traces.
func (t *Telemetry) AppendTraces(dst []byte, spans []Span) []byte {
	dst = t.appendHead(dst, "resourceSpans", "scopeSpans", "spans")
	var e spanEncoder
	for i := range spans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.append(dst, &spans[i])
	}
	return append(dst, otlpTail...)
}

// otlpTail ends what appendHead begins.
const otlpTail = "]}]}]}"

// AppendMetrics appends an ExportMetricsServiceRequest of OTLP in JSON, without line breaks: the
// body of a POST to /v1/metrics. The values are cumulative.
func (t *Telemetry) AppendMetrics(dst []byte) []byte {
	now := time.Now()
	dst = t.appendHead(dst, "resourceMetrics", "scopeMetrics", "metrics")
	for i, m := range t.metrics() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.appendOTLP(dst, t.start, now)
	}
	return append(dst, otlpTail...)
}

// appendHead appends the resource and the scope, up to the list of recorded items.
func (t *Telemetry) appendHead(dst []byte, resources, scopes, list string) []byte {
	dst = append(append(append(dst, `{"`...), resources...), `":[{"resource":{"attributes":`...)
	dst = appendAttributes(dst, t.o.Resource)
	dst = append(append(append(dst, `},"`...), scopes...), `":[{"scope":{"name":"`...)
	dst = append(dst, module+`/rpc/mcp/telemetry"`...)
	if v := version(); v != "" {
		dst = jsonscan.AppendString(append(dst, `,"version":`...), v)
	}
	return append(append(append(dst, `},"`...), list...), `":[`...)
}

// A spanEncoder encodes spans as OTLP. The zero value is ready to use.
type spanEncoder struct {
	shared map[operationKey][]byte // the attributes that many spans have, encoded
}

const maxShared = 1024 // entries of spanEncoder.shared

func (e *spanEncoder) append(dst []byte, s *Span) []byte {
	dst = appendIDs(append(dst, '{'), s.SpanContext)
	if s.Parent != (SpanID{}) {
		dst = append(hex.AppendEncode(append(dst, `,"parentSpanId":"`...), s.Parent[:]), '"')
	}
	dst = appendFlags(dst, s.Sampled, s.RemoteParent)
	dst = jsonscan.AppendString(append(dst, `,"name":`...), s.Name())
	dst = strconv.AppendInt(append(dst, `,"kind":`...), int64(s.Kind), 10)
	dst = appendTime(append(dst, `,"startTimeUnixNano":`...), s.Start)
	dst = appendTime(append(dst, `,"endTimeUnixNano":`...), s.Start.Add(s.Duration))
	dst = e.appendAttributes(append(dst, `,"attributes":[`...), s)
	for i, link := range s.Links {
		if i == 0 {
			dst = append(dst, `,"links":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendIDs(append(dst, '{'), link)
		dst = append(appendFlags(dst, link.Sampled, link.Remote), '}')
	}
	if len(s.Links) > 0 {
		dst = append(dst, ']')
	}
	if s.ErrorType != "" {
		dst = append(dst, `,"status":{"code":2`...)
		if s.Message != "" {
			dst = jsonscan.AppendString(append(dst, `,"message":`...), s.Message)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendAttributes appends the attributes that Span.Attributes returns, and the end of the list.
func (e *spanEncoder) appendAttributes(dst []byte, s *Span) []byte {
	for _, a := range s.extra {
		dst = appendAttribute(dst, a)
	}
	key := s.message.operationKey
	key.errorType, key.rpcError = "", false
	if key.targetKey == attrURI {
		key.target = ""
	}
	shared, ok := e.shared[key]
	if !ok {
		for _, a := range key.appendAttrs(nil) {
			shared = appendAttribute(shared, a)
		}
		if e.shared == nil {
			e.shared = make(map[operationKey][]byte)
		}
		if len(e.shared) < maxShared {
			e.shared[key] = shared
		}
	}
	if len(shared) > 0 {
		dst = append(appendComma(dst), shared...)
	}
	var room [4]slog.Attr
	for _, a := range s.appendOwn(room[:0]) {
		dst = appendAttribute(dst, a)
	}
	return append(dst, ']')
}

// appendIDs appends the members that a span and a link have in common.
func appendIDs(dst []byte, c SpanContext) []byte {
	dst = hex.AppendEncode(append(dst, `"traceId":"`...), c.Trace[:])
	dst = append(hex.AppendEncode(append(dst, `","spanId":"`...), c.Span[:]), '"')
	if c.State != "" {
		dst = jsonscan.AppendString(append(dst, `,"traceState":`...), c.State)
	}
	return dst
}

// appendFlags appends the flags of W3C Trace Context, and whether the other span is known to be
// remote.
func appendFlags(dst []byte, sampled, remote bool) []byte {
	flags := int64(0x100)
	if sampled {
		flags |= 1
	}
	if remote {
		flags |= 0x200
	}
	return strconv.AppendInt(append(dst, `,"flags":`...), flags, 10)
}

// appendTime appends nanoseconds since 1970 as a string, the form of 64-bit integers in the JSON of
// protobuf.
func appendTime(dst []byte, t time.Time) []byte {
	return append(strconv.AppendInt(append(dst, '"'), t.UnixNano(), 10), '"')
}

func appendAttributes(dst []byte, attrs []slog.Attr) []byte {
	dst = append(dst, '[')
	for _, a := range attrs {
		dst = appendAttribute(dst, a)
	}
	return append(dst, ']')
}

// appendComma appends a comma, unless it would be the first byte of dst or of a list.
func appendComma(dst []byte) []byte {
	if len(dst) == 0 || dst[len(dst)-1] == '[' {
		return dst
	}
	return append(dst, ',')
}

func appendAttribute(dst []byte, a slog.Attr) []byte {
	dst = jsonscan.AppendString(append(appendComma(dst), `{"key":`...), a.Key)
	dst = append(dst, `,"value":{`...)
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindBool:
		dst = strconv.AppendBool(append(dst, `"boolValue":`...), v.Bool())
	case slog.KindInt64:
		dst = strconv.AppendInt(append(dst, `"intValue":"`...), v.Int64(), 10)
		dst = append(dst, '"')
	case slog.KindFloat64:
		dst = appendDouble(append(dst, `"doubleValue":`...), v.Float64())
	default:
		dst = jsonscan.AppendString(append(dst, `"stringValue":`...), v.String())
	}
	return append(dst, "}}"...)
}

// appendDouble appends a number, or a string for a value that no JSON number represents.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func (m *metric) appendOTLP(dst []byte, start, now time.Time) []byte {
	dst = jsonscan.AppendString(append(dst, `{"name":`...), m.Name)
	dst = jsonscan.AppendString(append(dst, `,"description":`...), m.Description)
	dst = jsonscan.AppendString(append(dst, `,"unit":`...), m.Unit)
	const cumulative = `"aggregationTemporality":2,`
	switch m.Type {
	case counterMetric:
		dst = append(dst, `,"sum":{"isMonotonic":true,`+cumulative...)
	case gaugeMetric:
		dst = append(dst, `,"gauge":{`...)
	case histogramMetric:
		dst = append(dst, `,"histogram":{`+cumulative...)
	}
	dst = append(dst, `"dataPoints":[`...)
	for i, p := range m.Points {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendAttributes(append(dst, `{"attributes":`...), p.Attributes)
		dst = appendTime(append(dst, `,"startTimeUnixNano":`...), start)
		dst = appendTime(append(dst, `,"timeUnixNano":`...), now)
		if m.Type == histogramMetric {
			dst = p.appendHistogram(dst)
		} else {
			dst = appendDouble(append(dst, `,"asDouble":`...), p.Value)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}}"...)
}

func (p *point) appendHistogram(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `,"count":"`...), p.count(), 10)
	dst = appendDouble(append(dst, `","sum":`...), p.Value)
	dst = append(dst, `,"bucketCounts":[`...)
	for i, n := range p.Buckets {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendUint(append(dst, '"'), n, 10), '"')
	}
	dst = append(dst, `],"explicitBounds":[`...)
	for i, bound := range durationBounds {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendDouble(dst, bound.Seconds())
	}
	return append(dst, ']')
}
