package main

import (
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

// A recorder selects the telemetry that an echo server records about its calls.
type recorder struct {
	name    string // "stdwire" records nothing
	sampler string // of OTEL_TRACES_SAMPLER; "" records no spans
}

var recorders = []recorder{
	{"stdwire", ""},
	{"stdwire, metrics", ""},
	{"stdwire, traces that the caller does not sample", "parentbased_always_on"},
	{"stdwire, traces, all sampled", "always_on"},
}

// start returns the telemetry, whose spans it takes and encodes in the background, as an exporter
// does. The telemetry of "stdwire" is nil.
func (r recorder) start() (*telemetry.Telemetry, error) {
	switch {
	case r.name == "stdwire":
		return nil, nil
	case r.sampler == "":
		return telemetry.Options{MaxSpans: -1}.New(), nil
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
				body = t.AppendTraces(body[:0], spans)
			}
		}
	}()
	return t, nil
}

// serveRecorded runs an echo server on standard input and output, or on HTTP until standard input
// ends.
func serveRecorded(name, transport, profiles string) (err error) {
	i := slices.IndexFunc(recorders, func(r recorder) bool { return r.name == name })
	if i < 0 {
		return fmt.Errorf("there is no recorder %q", name)
	}
	t, err := recorders[i].start()
	if err != nil {
		return err
	}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read},
		func(_ context.Context, in echoText) (echoText, error) { return in, nil })
	var o server.Options
	stop, err := profile(profiles, transport+", "+name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
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
// All servers run at the same time, and are called by turns.
func telemetrySuite(o options) ([]measure, error) {
	var all []measure
	for _, load := range recordedLoads {
		rows, err := load.measure(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", load.what, err)
		}
		all = append(all, rows...)
	}
	return all, nil
}

// recordedParams are the params of the calls. Their trace is not sampled, but only some samplers
// respect that.
var recordedParams = `{"name":"echo","arguments":{"text":"` + string(httpEcho) + `"},` +
	strings.Replace(modernMeta, `{`, `{"traceparent":`+
		`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",`, 1) + `}`

var recordedCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + recordedParams + `}`

// A recordedLoad calls servers. open returns a function that calls a server for some time, and
// returns the number of calls.
type recordedLoad struct {
	what, transport string
	open            func(p *process) (func(time.Duration) (int, error), error)
}

var recordedLoads = []recordedLoad{
	{"stdio, 64 B, one at a time", "stdio", openRecordedSingle},
	{"stdio, 64 B, 64 in flight", "stdio", openRecordedStdio},
	{"HTTP, 64 B, 32 connections", "http", openRecordedHTTP},
}

// measure calls the server of each recorder for about o.time.
func (l recordedLoad) measure(o options) (all []measure, err error) {
	const turns = 40
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	servers := make([]*process, len(recorders))
	defer func() {
		for _, p := range servers {
			if p != nil && err != nil {
				p.stop()
			}
		}
	}()
	call := make([]func(time.Duration) (int, error), len(recorders))
	for i, r := range recorders {
		if servers[i], err = start(self, "-recorder", r.name, "-transport",
			l.transport, "-profile", o.profiles); err != nil {
			return nil, err
		}
		if call[i], err = l.open(servers[i]); err != nil {
			return nil, err
		}
	}
	calls := make([]int, len(recorders))
	for turn := range turns {
		for n := range recorders {
			i := (turn + n) % len(recorders)
			n, err := call[i](o.time / turns)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", recorders[i].name, err)
			}
			calls[i] += n
		}
	}
	for i, r := range recorders {
		cpu := servers[i].stop() / time.Duration(calls[i])
		servers[i] = nil
		m := measure{what: l.what, program: r.name, value: microseconds(cpu),
			unit: "µs CPU a call"}
		if i > 0 {
			m.extra = fmt.Sprintf("%+.1f %%", 100*(m.value/all[0].value-1))
		}
		all = append(all, m)
	}
	return all, nil
}

func openRecordedSingle(p *process) (func(time.Duration) (int, error), error) {
	frame := []byte(recordedCall + "\n")
	return func(d time.Duration) (calls int, err error) {
		for begin := time.Now(); err == nil && time.Since(begin) < d; calls++ {
			_, err = p.exchange(frame)
		}
		return calls, err
	}, nil
}

func openRecordedStdio(p *process) (func(time.Duration) (int, error), error) {
	frame := []byte(recordedCall + "\n")
	return func(d time.Duration) (calls int, err error) {
		r, err := p.keepInFlight(64, frame, d)
		if err != nil {
			return 0, err
		}
		return len(r.times), nil
	}, nil
}

func openRecordedHTTP(p *process) (func(time.Duration) (int, error), error) {
	address, err := p.line()
	if err != nil {
		return nil, err
	}
	clients, err := dialAll(address, 32, func(c *httpClient) error {
		c.call = httpPost(address, "tools/call", "echo", recordedCall)
		return nil
	})
	if err != nil {
		closeAll(clients)
		return nil, err
	}
	return func(d time.Duration) (int, error) {
		times, _, err := load(clients, d)
		return len(times), err
	}, nil
}
