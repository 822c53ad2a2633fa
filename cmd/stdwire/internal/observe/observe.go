// Package observe records the traces and metrics of a command, if the user asks for them, and
// exports them: to a collector by OTLP, and on a listener that Prometheus reads.
package observe

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/otlp"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
)

// Flags are the flags of commands that can be observed.
type Flags struct {
	endpoint string // of --otlp
	metrics  string // of --metrics
	served   bool   // metrics are recorded for Recorder.Metrics
}

// Given returns the name of a given flag, or "".
func (f *Flags) Given() string {
	switch {
	case f.endpoint != "":
		return "--otlp"
	case f.metrics != "":
		return "--metrics"
	}
	return ""
}

// ServeMetrics turns the recording of metrics on, for [Recorder.Metrics].
func (f *Flags) ServeMetrics() { f.served = true }

// Flags returns the flags.
func (f *Flags) Flags() []command.Flag {
	return []command.Flag{
		command.TextFlag(&f.endpoint, "--otlp", "URL",
			"send traces and metrics to an OpenTelemetry collector, such as http://localhost:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT, if set)"),
		{Name: "--metrics", Value: "ADDR",
			Help: "serve metrics for Prometheus at /metrics of an address such as 127.0.0.1:9464, without a token; the default host is 127.0.0.1",
			Set: func(value string) (err error) {
				f.metrics, err = metricsAddress(value)
				return err
			}},
	}
}

// flushTimeout is how long the end of a command waits for the collector.
const flushTimeout = 3 * time.Second

// A Recorder records traces and metrics. If the user has not asked for them, it records nothing,
// and its methods have no effect. Logger, Server, Client, Gateway and Handler may be called
// on a nil Recorder.
type Recorder struct {
	*telemetry.Telemetry // nil if nothing is recorded

	config   *otlp.Config
	exporter *otlp.Exporter // nil if there is no collector
	listener *listener      // nil if there is none
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// Open reads the variables and starts to export. It prints warnings to std.Err; later failures are
// logged. The caller closes the recorder. The error is a [*command.Failure].
func (f *Flags) Open(std *term.Streams, log *slog.Logger) (*Recorder, error) {
	config, warnings, err := otlp.Configure(os.Getenv, f.endpoint)
	if err != nil {
		return nil, command.Usagef("telemetry: %v", err)
	}
	r := &Recorder{config: config}
	if config.Disabled || !config.Enabled() && f.metrics == "" && !f.served {
		return r, nil
	}
	for _, w := range warnings {
		std.Err.Printf("warning: %s", w)
	}
	spans := config.Batch.Queue
	if config.Traces.URL == "" {
		spans = -1
	}
	resource := append(config.Resource, slog.String("service.version", command.Version()))
	r.Telemetry = telemetry.Options{Resource: resource, Sampler: config.Sampler,
		MaxSpans: spans}.New()
	if f.metrics != "" {
		if r.listener, err = listen(f.metrics, r.Telemetry, log); err != nil {
			return nil, err
		}
		std.Err.Printf("stdwire: serving metrics at http://%s/metrics", r.listener.Addr())
	}
	if config.Enabled() {
		r.exporter = otlp.Start(config, log)
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(context.Background())
		r.done.Go(func() { r.export(ctx) })
	}
	return r, nil
}

// Close exports what is left, within a few seconds.
func (r *Recorder) Close() {
	if r.listener != nil {
		r.listener.close()
	}
	if r.exporter == nil {
		return
	}
	r.cancel()
	r.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	r.exporter.Close(ctx)
}

// export passes spans and metrics to the exporter at their intervals until ctx ends, and then a
// last time.
func (r *Recorder) export(ctx context.Context) {
	spans := time.NewTicker(r.config.Batch.Delay)
	defer spans.Stop()
	metrics := time.NewTicker(r.config.Interval)
	defer metrics.Stop()
	for {
		select {
		case <-r.SpansReady():
			r.exportSpans()
		case <-spans.C:
			r.exportSpans()
		case <-metrics.C:
			r.exportMetrics()
		case <-ctx.Done():
			r.exportSpans()
			r.exportMetrics()
			return
		}
	}
}

func (r *Recorder) exportSpans() {
	var spans []telemetry.Span
	for r.config.Traces.URL != "" {
		spans = r.TakeSpans(spans[:0], r.config.Batch.Size)
		if len(spans) == 0 {
			return
		}
		r.exporter.Traces(r.AppendTraces(nil, spans))
	}
}

func (r *Recorder) exportMetrics() {
	if r.config.Metrics.URL != "" {
		r.exporter.Metrics(r.AppendMetrics(nil))
	}
}

func (r *Recorder) records() bool { return r != nil && r.Telemetry != nil }

// Logger returns a logger like log that adds the trace to each line that belongs to one.
func (r *Recorder) Logger(log *slog.Logger) *slog.Logger {
	if !r.records() {
		return log
	}
	return slog.New(telemetry.LogHandler(log.Handler()))
}

// Server makes a server with these options record its messages.
func (r *Recorder) Server(o *server.Options) {
	if r.records() {
		o.Middleware = append(o.Middleware, r.Incoming(telemetry.Endpoint{}))
		o.Outgoing = append(o.Outgoing, r.Outgoing(telemetry.Endpoint{}))
	}
}

// Client makes a client with these options record its messages. service is the name of the server
// in metrics.
func (r *Recorder) Client(o *client.Options, service string) {
	if r.records() {
		e := telemetry.Endpoint{Service: service}
		o.Middleware = append(o.Middleware, r.Incoming(e))
		o.Outgoing = append(o.Outgoing, r.Outgoing(e))
	}
}
