package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// handle passes a request through middleware to a handler that returns result and err.
func handle(m rpc.Middleware, method, params string, result any, err error) {
	_, _ = m(func(context.Context, *rpc.Request) (any, error) { return result, err })(
		context.Background(), &rpc.Request{ID: rpc.IntID(1), Method: method,
			Params: json.RawMessage(params)})
}

// find returns the metric with a name.
func find(t *testing.T, tel *telemetry.Telemetry, name string) telemetry.Metric {
	t.Helper()
	for _, m := range tel.Metrics() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no metric %s", name)
	return telemetry.Metric{}
}

func total(m telemetry.Metric) (n uint64) {
	for _, p := range m.Points {
		n += p.Count()
	}
	return n
}

// The other side invents a million names of methods and tools that do not exist.
func TestUnknownNamesAreNotSeries(t *testing.T) {
	sampler, err := telemetry.ParseSampler("always_off", "")
	assert.NilError(t, err)
	tel := telemetry.Options{Sampler: sampler}.New()
	in := tel.Incoming(telemetry.Endpoint{})
	const n = 20_000
	for i := range n {
		handle(in, fmt.Sprint("method/", i), `{}`, nil, rpc.ErrMethodNotFound)
		handle(in, mcp.MethodCallTool, fmt.Sprintf(`{"name":"tool%d"}`, i), nil,
			rpc.ErrInvalidParams)
	}
	m := find(t, tel, "mcp.server.operation.duration")
	assert.Equal(t, len(m.Points), 2)
	assert.Equal(t, total(m), uint64(2*n))
}

// A server has a million tools, and an application a million values of a label.
func TestSeriesAreBounded(t *testing.T) {
	tel := telemetry.Options{MaxSeries: 100, MaxSpans: -1}.New()
	in := tel.Incoming(telemetry.Endpoint{})
	c := tel.Counter(telemetry.Instrument{Name: "visits", Labels: []string{"city"}})
	tel.Gauge(telemetry.Instrument{Name: "levels", Labels: []string{"city"}},
		func(set func(float64, ...string)) {
			for i := range 1000 {
				set(1, fmt.Sprint(i))
			}
		})
	const n = 1_000_000
	for i := range n {
		c.Add(1, strconv.Itoa(i))
		if i < 10_000 { // enough to fill the known names as well
			handle(in, mcp.MethodCallTool, fmt.Sprintf(`{"name":"tool%d"}`, i), nil, nil)
		}
	}
	m := find(t, tel, "visits")
	assert.Equal(t, len(m.Points), 100)
	sum := 0.0
	overflow := 0.0
	for _, p := range m.Points {
		sum += p.Value
		if p.Attributes[0].Key == "otel.metric.overflow" {
			overflow = p.Value
		}
	}
	assert.Equal(t, sum, float64(n))
	assert.Equal(t, overflow, float64(n-99))
	assert.Equal(t, len(find(t, tel, "levels").Points), 100)
	durations := find(t, tel, "mcp.server.operation.duration")
	assert.Equal(t, len(durations.Points), 100)
	assert.Equal(t, total(durations), uint64(10_000))
	assert.Equal(t, len(tel.TakeSpans(nil, 10)), 0)
	assert.Equal(t, tel.DroppedSpans(), uint64(0))
}

// Middleware that is made for each connection shares its series, and there are not too many.
func TestEndpointsAreBounded(t *testing.T) {
	tel := telemetry.Options{MaxSeries: 10}.New()
	for range 3 {
		handle(tel.Outgoing(telemetry.Endpoint{Address: "example.com"}), mcp.MethodPing, "", nil,
			nil)
	}
	m := find(t, tel, "mcp.client.operation.duration")
	assert.Equal(t, len(m.Points), 1)
	assert.Equal(t, total(m), uint64(3))
	for i := range 100 {
		handle(tel.Outgoing(telemetry.Endpoint{Address: fmt.Sprint(i), Transport: fmt.Sprint(i)}),
			mcp.MethodPing, "", nil, nil)
	}
	m = find(t, tel, "mcp.client.operation.duration")
	assert.Equal(t, len(m.Points), 10)
	assert.Equal(t, total(m), uint64(103))
}

func TestQueueIsBoundedInCount(t *testing.T) {
	tel := telemetry.Options{MaxSpans: 4}.New()
	in := tel.Incoming(telemetry.Endpoint{})
	for i := range 10 {
		handle(in, mcp.MethodPing, "", nil, nil)
		select {
		case <-tel.SpansReady():
			assert.Assert(t, i >= 1, "the queue is not half full after %d", i+1)
		default:
			assert.Assert(t, i != 1)
		}
	}
	assert.Equal(t, tel.DroppedSpans(), uint64(6))
	assert.Equal(t, len(tel.TakeSpans(nil, 3)), 3)
	assert.Equal(t, len(tel.TakeSpans(nil, 3)), 1)
	handle(in, mcp.MethodPing, "", nil, nil)
	assert.Equal(t, len(tel.TakeSpans(nil, 3)), 1)
	assert.Equal(t, find(t, tel, "stdwire.telemetry.spans.dropped").Points[0].Value, 6.0)
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	tel := telemetry.Options{MaxSpanBytes: 10_000}.New()
	for range 100 {
		_, span := tel.StartSpan(context.Background(), "x", telemetry.SpanKindInternal)
		for range 10 {
			span.Set(slog.String("text", strings.Repeat("x", 200)))
		}
		span.End(nil)
	}
	n := len(tel.TakeSpans(nil, 100))
	assert.Assert(t, n > 0 && n < 6, "%d", n)
	assert.Equal(t, tel.DroppedSpans(), uint64(100-n))
	_, span := tel.StartSpan(context.Background(), "x", telemetry.SpanKindInternal)
	span.End(nil)
	assert.Equal(t, len(tel.TakeSpans(nil, 100)), 1) // the bytes of those taken are free
}

// The memory of a span for one message is bounded, however long its texts are.
func TestTextsAreClipped(t *testing.T) {
	tel := telemetry.Options{}.New()
	long := strings.Repeat("é", 1<<16)
	in := tel.Incoming(telemetry.Endpoint{})
	m := in(func(context.Context, *rpc.Request) (any, error) {
		return nil, rpc.Errorf(-32602, "%s", long)
	})
	id, err := rpc.ParseID([]byte(`"` + long + `"`))
	assert.NilError(t, err)
	_, _ = m(context.Background(), &rpc.Request{ID: id, Method: mcp.MethodCallTool,
		Params: json.RawMessage(`{"name":"` + long + `"}`)})
	span := tel.TakeSpans(nil, 1)[0]
	assert.Equal(t, span.Name(), "tools/call "+strings.Repeat("é", 128))
	assert.Equal(t, span.Message, strings.Repeat("é", 128))
	assert.Assert(t, !strings.Contains(text(span), "jsonrpc.request.id"))
}

func TestConcurrency(t *testing.T) {
	tel := telemetry.Options{MaxSeries: 10, MaxSpans: 100}.New()
	c := tel.Counter(telemetry.Instrument{Name: "visits", Labels: []string{"city"}})
	in, out := tel.Incoming(telemetry.Endpoint{}), tel.Outgoing(telemetry.Endpoint{})
	var wg sync.WaitGroup
	const workers, each = 8, 500
	for range workers {
		wg.Go(func() {
			for i := range each {
				params := fmt.Sprintf(`{"name":"tool%d"}`, i%20)
				handle(in, mcp.MethodCallTool, params, json.RawMessage(`{}`), nil)
				handle(out, mcp.MethodCallTool, params, json.RawMessage(`{}`), nil)
				c.Add(1, fmt.Sprint(i%20))
				if i%50 == 0 {
					_ = tel.AppendMetrics(nil)
					_ = tel.AppendTraces(nil, tel.TakeSpans(nil, 10))
				}
			}
		})
	}
	wg.Wait()
	sum := 0.0
	for _, p := range find(t, tel, "visits").Points {
		sum += p.Value
	}
	assert.Equal(t, sum, float64(workers*each))
	assert.Equal(t, total(find(t, tel, "mcp.server.operation.duration")), uint64(workers*each))
	assert.Equal(t, total(find(t, tel, "mcp.client.operation.duration")), uint64(workers*each))
}
