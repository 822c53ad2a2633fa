package telemetry

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/contain"
)

// An Instrument describes a metric of the application.
type Instrument struct {
	Name        string // by OpenTelemetry's rules, such as "gateway.tools.withheld"
	Unit        string // a unit of UCUM, such as "s" or "{tool}"
	Description string
	Labels      []string // the names of the attributes of each series, at most maxLabels
}

const maxLabels = 6

// labelValues are the values of Instrument.Labels.
type labelValues [maxLabels]string

func (i *Instrument) attrs(values labelValues) []slog.Attr {
	attrs := make([]slog.Attr, len(i.Labels))
	for n, name := range i.Labels {
		attrs[n] = slog.String(name, values[n])
	}
	return attrs
}

func (i *Instrument) key(values []string) (key labelValues) {
	if len(values) != len(i.Labels) {
		panic(fmt.Sprintf("telemetry: %s has %d labels, and %d values were given", i.Name,
			len(i.Labels), len(values)))
	}
	for n, value := range values {
		if len(value) > maxText {
			value = clip(value)
		}
		key[n] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return key
}

// A metric is an instrument with its values at one time.
type metric struct {
	Instrument
	Type   metricType
	Points []point // sorted by their attributes
}

// A metricType is the type of a metric.
type metricType int

const (
	counterMetric   metricType = iota // a total that only increases
	gaugeMetric                       // a value that may decrease
	histogramMetric                   // a distribution of durations
)

// A point is one series of a metric.
type point struct {
	Attributes []slog.Attr
	Value      float64 // of a counter or gauge; the sum of a histogram
	// Buckets are the numbers of values of a histogram, one for each bucket: those up to each of
	// durationBounds, and the rest.
	Buckets []uint64
}

// count returns the number of values of a histogram.
func (p *point) count() (n uint64) {
	for _, count := range p.Buckets {
		n += count
	}
	return n
}

// instruments are all metrics, in the order in which they were added.
type instruments struct {
	mu   sync.Mutex
	list []metricSource
}

// A metricSource is a metric whose points are read when it is exported.
type metricSource struct {
	Instrument
	kind   metricType
	points func() []point
}

func (t *Telemetry) addSource(s metricSource) {
	if !isInstrumentName(s.Name) {
		panic(fmt.Sprintf("telemetry: the name %.80q of an instrument is invalid: "+
			"want a letter, then up to 254 letters, digits, '_', '.', '-' and '/'", s.Name))
	}
	if len(s.Labels) > maxLabels {
		panic(fmt.Sprintf("telemetry: %s has %d labels: want at most %d", s.Name, len(s.Labels),
			maxLabels))
	}
	s.Labels = slices.Clone(s.Labels)
	t.instruments.mu.Lock()
	defer t.instruments.mu.Unlock()
	for _, other := range t.instruments.list {
		if prometheusName(other.Instrument, other.kind) == prometheusName(s.Instrument, s.kind) {
			panic(fmt.Sprintf("telemetry: there is a metric %s already", other.Name))
		}
	}
	t.instruments.list = append(t.instruments.list, s)
}

func isInstrumentName(name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || strings.IndexByte("_.-/", c) >= 0)) {
			return false
		}
	}
	return true
}

// metrics returns the present values of all metrics. The values are totals since [Options.New].
func (t *Telemetry) metrics() []metric {
	t.instruments.mu.Lock()
	list := slices.Clone(t.instruments.list)
	t.instruments.mu.Unlock()
	var all []metric
	for _, s := range list {
		points := s.points()
		if len(points) == 0 {
			continue
		}
		slices.SortFunc(points, func(a, b point) int {
			return slices.CompareFunc(a.Attributes, b.Attributes, func(a, b slog.Attr) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key),
					cmp.Compare(a.Value.String(), b.Value.String()))
			})
		})
		all = append(all, metric{s.Instrument, s.kind, points})
	}
	return all
}

// A Counter is a total that only increases. The methods of a nil *Counter do nothing.
type Counter struct {
	Instrument
	series *vector[labelValues, atomic.Uint64]
}

// Counter adds a counter. It panics if the name is invalid or there is one of that name, or if
// there are more than six labels. A nil *Telemetry returns nil.
func (t *Telemetry) Counter(i Instrument) *Counter {
	if t == nil {
		return nil
	}
	c := &Counter{Instrument: i}
	c.series = newVector[labelValues, atomic.Uint64](t.o.MaxSeries, c.attrs)
	t.addSource(metricSource{i, counterMetric, func() (points []point) {
		c.series.each(func(attrs []slog.Attr, n *atomic.Uint64) {
			points = append(points, point{Attributes: attrs, Value: float64(n.Load())})
		})
		return points
	}})
	return c
}

// Add adds n to the series with these values of the labels, in the order of Instrument.Labels. It
// panics if the number of values is wrong. It takes no lock, except for a new series.
func (c *Counter) Add(n uint64, values ...string) {
	if c != nil {
		key := c.key(values)
		c.series.at(&key).Add(n)
	}
}

// Gauge adds a metric whose values are read when it is exported: read calls set for each series.
// Calls of read may overlap; if read panics, the values that it has set count. Gauge panics as
// [Telemetry.Counter] does, and does nothing for a nil *Telemetry.
func (t *Telemetry) Gauge(i Instrument, read func(set func(value float64, labels ...string))) {
	if t == nil {
		return
	}
	t.addSource(metricSource{i, gaugeMetric, func() (points []point) {
		found := make(map[labelValues]int)
		// read may retain set, and call it after it has returned
		var mu sync.Mutex
		over := false
		contain.Run(func() {
			read(func(value float64, labels ...string) {
				key := i.key(labels)
				mu.Lock()
				defer mu.Unlock()
				at, ok := found[key]
				switch {
				case over || !ok && len(points) >= t.o.MaxSeries:
				case ok:
					points[at].Value = value
				default:
					found[key] = len(points)
					points = append(points, point{Attributes: i.attrs(key), Value: value})
				}
			})
		})
		mu.Lock()
		defer mu.Unlock()
		over = true
		return points
	}})
}
