package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	sgrpc "github.com/sourcegraph/jsonrpc2"
	lsprpc "go.lsp.dev/jsonrpc2"
	exprpc "golang.org/x/exp/jsonrpc2"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
)

// payload is the echoed value: the handler decodes and returns it, and the caller decodes the
// result.
type payload struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

// A connection is a pair of peers of one library, connected by two os.Pipes or a net.Pipe.
type connection struct {
	void  func(ctx context.Context) error // a call without params and result; nil if not measured
	call  func(ctx context.Context, in *payload) (payload, error)
	close func()
}

var rpcPrograms = []struct {
	name    string
	connect func(near, far io.ReadWriteCloser) (connection, error)
}{
	{"stdwire", stdwireRPC},
	{"x/exp/jsonrpc2", expRPC},
	{"creachadair/jrpc2", jrpc2RPC},
	{"sourcegraph/jsonrpc2", sourcegraphRPC},
	{"go.lsp.dev/jsonrpc2", lspRPC(lsprpc.AsyncHandler)},
	{"go.lsp.dev/jsonrpc2, serial", lspRPC(func(h lsprpc.Handler) lsprpc.Handler { return h })},
	{"encoding/json alone", jsonAlone},
}

func rpcSuite(o options) ([]measure, error) {
	var all []measure
	for _, load := range []struct {
		name    string
		text    string // "" for a void call
		connect func() (near, far io.ReadWriteCloser, err error)
	}{
		{"void", "", pipes},
		{"void, net.Pipe", "", netPipe},
		{"echo 32 B", "hello", pipes},
		{"echo 16 KiB", strings.Repeat("a", 16<<10), pipes},
	} {
		for _, callers := range []int{1, 64} {
			for _, p := range rpcPrograms {
				if !o.measures(p.name) {
					continue
				}
				near, far, err := load.connect()
				if err != nil {
					return nil, err
				}
				m, err := measureRPC(p.connect, near, far, load.text, callers, o.time)
				if errors.Is(err, errors.ErrUnsupported) {
					continue
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.name, err)
				}
				m.what, m.program = fmt.Sprintf("%s, %d callers", load.name, callers), p.name
				all = append(all, m)
			}
		}
	}
	return all, nil
}

func measureRPC(connect func(near, far io.ReadWriteCloser) (connection, error),
	near, far io.ReadWriteCloser, text string, callers int, d time.Duration) (measure, error) {
	c, err := connect(near, far)
	if err != nil {
		return measure{}, err
	}
	defer c.close()
	if text == "" {
		if c.void == nil {
			return measure{}, errors.ErrUnsupported
		}
		return benchmark(d, callers, func() error { return c.void(context.Background()) })
	}
	return benchmark(d, callers, func() error {
		out, err := c.call(context.Background(), &payload{text, 42})
		if err == nil && (out.N != 42 || len(out.Text) != len(text)) {
			err = errors.New("the echo is wrong")
		}
		return err
	})
}

// benchmarkFor is testing.Benchmark with a duration.
func benchmarkFor(d time.Duration, f func(b *testing.B)) testing.BenchmarkResult {
	if err := flag.Set("test.benchtime", d.String()); err != nil {
		panic(err) // testing.Init has defined the flag
	}
	return testing.Benchmark(f)
}

// benchmark calls f from several goroutines. It returns the time per call, and the processor time,
// which says how much of the time both processors worked.
func benchmark(d time.Duration, callers int, f func() error) (measure, error) {
	var failure error
	var once sync.Once
	var cpu time.Duration // of the last run, which result describes
	testing.Init()
	result := benchmarkFor(d, func(b *testing.B) {
		b.ReportAllocs()
		before := cpuTime()
		defer func() { cpu = cpuTime() - before }()
		var wg sync.WaitGroup
		work := make(chan struct{}, callers)
		for range callers {
			wg.Go(func() {
				for range work {
					if err := f(); err != nil {
						once.Do(func() { failure = err })
					}
				}
			})
		}
		if callers == 1 {
			for range b.N {
				if err := f(); err != nil {
					once.Do(func() { failure = err })
				}
			}
		} else {
			for range b.N {
				work <- struct{}{}
			}
		}
		close(work)
		wg.Wait()
	})
	perCall := func(total time.Duration) float64 { return microseconds(total) / float64(result.N) }
	return measure{
		value: perCall(result.T), unit: "µs",
		extra: fmt.Sprintf("%.1f µs CPU, %d allocs, %d B", perCall(cpu), result.AllocsPerOp(),
			result.AllocedBytesPerOp()),
	}, failure
}

// duplex combines a reader and a writer.
type duplex struct {
	io.ReadCloser
	w io.WriteCloser
}

func (d duplex) Write(p []byte) (int, error) { return d.w.Write(p) }
func (d duplex) Close() error {
	return errors.Join(d.ReadCloser.Close(), d.w.Close())
}

func pipes() (near, far io.ReadWriteCloser, err error) {
	r1, w1, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	r2, w2, err := os.Pipe()
	return duplex{r1, w2}, duplex{r2, w1}, err
}

// netPipe returns the ends of a pipe in memory, where a Write waits for its Reads.
func netPipe() (near, far io.ReadWriteCloser, err error) {
	near, far = net.Pipe()
	return near, far, nil
}

func stdwireRPC(near, far io.ReadWriteCloser) (connection, error) {
	var router rpc.Router
	rpc.Handle(&router, "void", func(context.Context, struct{}) (any, error) { return nil, nil })
	rpc.Handle(&router, "echo", func(_ context.Context, p payload) (*payload, error) {
		return &p, nil
	})
	server := rpc.Options{Framing: framing.ContentLength, Handler: router.Serve}.New(far)
	client := rpc.Options{Framing: framing.ContentLength}.New(near)
	return connection{
		void: func(ctx context.Context) error { return client.Call(ctx, "void", nil, nil) },
		call: func(ctx context.Context, in *payload) (out payload, err error) {
			err = client.Call(ctx, "echo", in, &out)
			return out, err
		},
		close: func() { client.Close(); server.Close(); client.Wait(); server.Wait() },
	}, nil
}

// existingStream is an x/exp dialer for a stream that is open already.
type existingStream struct{ stream io.ReadWriteCloser }

func (d existingStream) Dial(context.Context) (io.ReadWriteCloser, error) { return d.stream, nil }

// fixedBinder is an x/exp binder that returns the same options for each connection.
type fixedBinder struct{ o exprpc.ConnectionOptions }

func (b fixedBinder) Bind(context.Context, *exprpc.Connection) (exprpc.ConnectionOptions, error) {
	return b.o, nil
}

func expRPC(near, far io.ReadWriteCloser) (connection, error) {
	ctx := context.Background()
	server, err := exprpc.Dial(ctx, existingStream{far},
		fixedBinder{exprpc.ConnectionOptions{Framer: exprpc.HeaderFramer(),
			Handler: exprpc.HandlerFunc(
				func(_ context.Context, req *exprpc.Request) (any, error) {
					if req.Method == "void" {
						return json.RawMessage("null"), nil
					}
					var p payload
					err := json.Unmarshal(req.Params, &p)
					return &p, err
				})}})
	if err != nil {
		return connection{}, err
	}
	client, err := exprpc.Dial(ctx, existingStream{near},
		fixedBinder{exprpc.ConnectionOptions{Framer: exprpc.HeaderFramer()}})
	return connection{
		call: func(ctx context.Context, in *payload) (out payload, err error) {
			err = client.Call(ctx, "echo", in).Await(ctx, &out)
			return out, err
		},
		void: func(ctx context.Context) error {
			return client.Call(ctx, "void", nil).Await(ctx, nil)
		},
		close: func() { near.Close(); far.Close(); _, _ = client, server },
	}, err
}

func jrpc2RPC(near, far io.ReadWriteCloser) (connection, error) {
	server := jrpc2.NewServer(
		handler.Map{
			"echo": handler.New(func(_ context.Context, p *payload) (*payload, error) {
				return p, nil
			}),
			"void": handler.New(func(context.Context) error { return nil }),
		},
		&jrpc2.ServerOptions{Concurrency: 64}).Start(channel.LSP(far, far))
	client := jrpc2.NewClient(channel.LSP(near, near), nil)
	return connection{
		call: func(ctx context.Context, in *payload) (out payload, err error) {
			err = client.CallResult(ctx, "echo", in, &out)
			return out, err
		},
		void: func(ctx context.Context) error {
			_, err := client.Call(ctx, "void", nil)
			return err
		},
		close: func() { client.Close(); server.Stop() },
	}, nil
}

func sourcegraphRPC(near, far io.ReadWriteCloser) (connection, error) {
	ctx := context.Background()
	server := sgrpc.NewConn(ctx, sgrpc.NewBufferedStream(far, sgrpc.VSCodeObjectCodec{}),
		sgrpc.AsyncHandler(sgrpc.HandlerWithError(
			func(_ context.Context, _ *sgrpc.Conn, req *sgrpc.Request) (any, error) {
				if req.Method == "void" {
					return nil, nil
				}
				var p payload
				err := json.Unmarshal(*req.Params, &p)
				return &p, err
			})))
	client := sgrpc.NewConn(ctx, sgrpc.NewBufferedStream(near, sgrpc.VSCodeObjectCodec{}),
		sgrpc.HandlerWithError(
			func(context.Context, *sgrpc.Conn, *sgrpc.Request) (any, error) { return nil, nil }))
	return connection{
		call: func(ctx context.Context, in *payload) (out payload, err error) {
			err = client.Call(ctx, "echo", in, &out)
			return out, err
		},
		void:  func(ctx context.Context) error { return client.Call(ctx, "void", nil, nil) },
		close: func() { client.Close(); server.Close() },
	}, nil
}

// lspRPC connects two peers of go.lsp.dev/jsonrpc2. wrap selects whether requests are handled
// concurrently, as by all others, or one by one on the goroutine that reads, which is its default.
// The handler decodes with the library's codec.
func lspRPC(wrap func(lsprpc.Handler) lsprpc.Handler) func(near,
	far io.ReadWriteCloser) (connection, error) {
	return func(near, far io.ReadWriteCloser) (connection, error) {
		ctx := context.Background()
		server := lsprpc.NewConn(lsprpc.NewHeaderStream(far))
		server.Go(ctx, wrap(func(_ context.Context, req *lsprpc.Request) (any, error) {
			if req.Method() == "void" {
				return nil, nil
			}
			var p payload
			err := lsprpc.DefaultCodec.Unmarshal(req.Params(), &p)
			return &p, err
		}))
		client := lsprpc.NewConn(lsprpc.NewHeaderStream(near))
		client.Go(ctx, lsprpc.MethodNotFoundHandler)
		return connection{
			call: func(ctx context.Context, in *payload) (out payload, err error) {
				_, err = client.Call(ctx, "echo", in, &out)
				return out, err
			},
			void: func(ctx context.Context) error {
				_, err := client.Call(ctx, "void", nil, nil)
				return err
			},
			close: func() { client.Close(); server.Close() },
		}, nil
	}
}

// jsonAlone is the minimum cost of an echo with encoding/json: the payload is encoded and decoded
// twice.
func jsonAlone(near, far io.ReadWriteCloser) (connection, error) {
	return connection{
		call: func(_ context.Context, in *payload) (out payload, err error) {
			for range 2 {
				var raw []byte
				if raw, err = json.Marshal(in); err != nil {
					return out, err
				}
				out = payload{}
				if err = json.Unmarshal(raw, &out); err != nil {
					return out, err
				}
				in = &out
			}
			return out, nil
		},
		close: func() { near.Close(); far.Close() },
	}, nil
}
