package telemetry_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

// Record the calls of a client and of its server as one trace.
func Example() {
	ctx := context.Background()
	t := telemetry.Options{}.New()
	s := server.Options{
		Middleware: []rpc.Middleware{t.Incoming(telemetry.Endpoint{})},
	}.New(server.Info{Name: "greeter", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "greet"},
		func(context.Context, struct{}) (string, error) { return "Hello", nil })
	clientEnd, serverEnd := net.Pipe()
	go s.Serve(ctx, serverEnd) // or s.ServeStdio(ctx)
	c, err := client.Options{
		Outgoing: []rpc.Middleware{t.Outgoing(telemetry.Endpoint{Transport: "pipe"})},
	}.Connect(ctx, client.Stream(clientEnd))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	t.TakeSpans(nil, 100) // those of the handshake

	_, err = c.CallToolRaw(ctx, "greet", nil)
	spans := t.TakeSpans(nil, 100) // or t.AppendTraces for a collector
	for _, span := range spans {
		fmt.Println(span.Name(), span.Kind == telemetry.SpanKindServer,
			span.Trace == spans[0].Trace)
	}
	fmt.Println(spans[0].Parent == spans[1].SpanContext.Span, err)
	// Output:
	// tools/call greet true true
	// tools/call greet false true
	// true <nil>
}

// Add a metric of the application, and write all metrics as Prometheus reads them.
func ExampleTelemetry_WritePrometheus() {
	t := telemetry.Options{}.New()
	visits := t.Counter(telemetry.Instrument{
		Name: "app.visits", Description: "Visits by city.", Labels: []string{"city"}})
	visits.Add(2, "Oslo")

	var text strings.Builder
	if err := t.WritePrometheus(&text); err != nil { // or to an http.ResponseWriter
		fmt.Println(err)
	}
	fmt.Fprint(os.Stdout, text.String())
	// Output:
	// # HELP stdwire_telemetry_spans_dropped_total Spans dropped because the queue was full.
	// # TYPE stdwire_telemetry_spans_dropped_total counter
	// stdwire_telemetry_spans_dropped_total 0
	// # HELP app_visits_total Visits by city.
	// # TYPE app_visits_total counter
	// app_visits_total{city="Oslo"} 2
}
