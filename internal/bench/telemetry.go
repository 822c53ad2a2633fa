package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A recorder is what an echo server records of its calls.
type recorder struct {
	name    string // "stdwire" records nothing
	sampler string // of OTEL_TRACES_SAMPLER
	encodes bool   // spans are encoded as OTLP, which an exporter then sends
}

var recorders = []recorder{
	{name: "stdwire"},
	{name: "stdwire, metrics", sampler: "always_off"},
	{name: "stdwire, metrics and spans", sampler: "always_on"},
	{name: "stdwire, OTLP encoded", sampler: "always_on", encodes: true},
}

// start returns the telemetry, and takes its spans in the background. The telemetry of "stdwire" is
// nil.
func (r recorder) start() (*telemetry.Telemetry, error) {
	if r.sampler == "" {
		return nil, nil
	}
	sampler, err := telemetry.ParseSampler(r.sampler, "")
	if err != nil {
		return nil, err
	}
	t := telemetry.Options{Sampler: sampler}.New()
	go func() {
		var spans []telemetry.Span
		var body []byte
		for range t.SpansReady() {
			spans = t.TakeSpans(spans[:0], 512)
			for ; len(spans) > 0; spans = t.TakeSpans(spans[:0], 512) {
				if r.encodes {
					body = t.AppendTraces(body[:0], spans)
				}
			}
		}
	}()
	return t, nil
}

// serveRecorded runs an echo server on standard input and output, or on HTTP until standard input
// ends.
func serveRecorded(name, transport string) error {
	i := slices.IndexFunc(recorders, func(r recorder) bool { return r.name == name })
	if i < 0 {
		return fmt.Errorf("there is no recorder %q", name)
	}
	t, err := recorders[i].start()
	if err != nil {
		return err
	}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Kind: dispatch.Read},
		func(_ context.Context, in echoText) (echoText, error) { return in, nil })
	var o server.Options
	if t != nil {
		o.Middleware = []rpc.Middleware{t.Incoming(telemetry.Endpoint{})}
	}
	s := o.New(server.Info{Name: "echo", Version: "1"}, catalog)
	if transport == "stdio" {
		return s.ServeStdio(context.Background())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- http.Serve(listener, streamable.Options{}.New(s)) }()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, listener.Close(), exceptError(<-ended, net.ErrClosed))
}

// telemetrySuite measures the processor time of a server for each call, with and without telemetry.
// It is the least of many short turns, in which the servers alternate.
func telemetrySuite(o options) ([]measure, error) {
	const turns = 10
	var all []measure
	for _, load := range recordedLoads {
		best := make([]recordedRun, len(recorders))
		for turn := range turns {
			for i, r := range recorders {
				run, err := load.run(r.name, o.time/turns)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", load.what, r.name, err)
				}
				if turn == 0 {
					best[i] = run
				}
				best[i].cpu = min(best[i].cpu, run.cpu)
				best[i].took = min(best[i].took, run.took)
			}
		}
		for i, r := range recorders {
			all = append(all, measure{load.what, r.name, microseconds(best[i].cpu),
				"µs CPU a call", false, fmt.Sprintf("%+.1f %%, %.1f µs a call",
					100*(float64(best[i].cpu)/float64(best[0].cpu)-1), microseconds(best[i].took))})
		}
	}
	return all, nil
}

// A recordedRun is the processor time and the duration of a call. The latter is the median for
// calls one at a time.
type recordedRun struct{ cpu, took time.Duration }

var recordedLoads = []struct {
	what string
	run  func(recorder string, d time.Duration) (recordedRun, error)
}{
	{"stdio, 64 B, one at a time", runRecordedSingle},
	{"stdio, 64 B, 64 in flight, modern", runRecordedStdio},
	{"HTTP, 64 B, 1 connection", runRecordedHTTP},
}

func startRecorded(recorder, transport string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(self, "-recorder", recorder, "-transport", transport)
}

func runRecordedSingle(recorder string, d time.Duration) (r recordedRun, err error) {
	p, err := startRecorded(recorder, "stdio")
	if err != nil {
		return r, err
	}
	frame := callFrame("echo", 1, strings.Repeat("x", 64))
	if err := p.open(); err != nil {
		return r, errors.Join(err, p.cmd.Process.Kill())
	}
	var times []time.Duration
	for begin := time.Now(); time.Since(begin) < d || len(times) < 20; {
		before := time.Now()
		if _, err := p.exchange(frame); err != nil {
			return r, errors.Join(err, p.cmd.Process.Kill())
		}
		times = append(times, time.Since(before))
	}
	slices.Sort(times)
	return recordedRun{p.stop() / time.Duration(len(times)), times[len(times)/2]}, nil
}

func runRecordedStdio(recorder string, d time.Duration) (r recordedRun, err error) {
	p, err := startRecorded(recorder, "stdio")
	if err != nil {
		return r, err
	}
	frame := callFrame("echo", 1, strings.Repeat("x", 64))
	frame = bytes.Replace(frame, []byte(`"name"`), []byte(modernMeta+`,"name"`), 1)
	calls, took, cpu, err := p.inFlight(64, frame, d)
	if err != nil {
		return r, err
	}
	return recordedRun{cpu / time.Duration(calls), took / time.Duration(calls)}, nil
}

func runRecordedHTTP(recorder string, d time.Duration) (r recordedRun, err error) {
	p, err := startRecorded(recorder, "http")
	if err != nil {
		return r, err
	}
	clients := []*httpClient{}
	address, err := p.line()
	if err == nil {
		clients, err = dialAll(address, 1, func(c *httpClient) error {
			c.call = httpCall(address, httpEcho)
			return nil
		})
	}
	var times []time.Duration
	if err == nil {
		times, _, err = load(clients, d)
	}
	closeAll(clients)
	cpu := p.stop()
	if err != nil {
		return r, err
	}
	slices.Sort(times)
	return recordedRun{cpu / time.Duration(len(times)), times[len(times)/2]}, nil
}
