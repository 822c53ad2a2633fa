package rpc_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stdwire/stdwire/rpc"
)

type payload struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func echo(_ context.Context, req *rpc.Request) (any, error) {
	var p payload
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

type duplex struct {
	io.Reader
	io.WriteCloser
	also io.Closer
}

func (d duplex) Close() error {
	d.also.Close()
	return d.WriteCloser.Close()
}

func osPipes(b testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser) {
	r1, w1, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return duplex{r1, w2, r1}, duplex{r2, w1, r2}
}

func BenchmarkEcho(b *testing.B) {
	for _, stream := range []struct {
		name string
		make func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser)
	}{
		{"os", osPipes},
		{"net", func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser) { return net.Pipe() }},
	} {
		for name, text := range map[string]string{"32B": "hello",
			"16KiB": strings.Repeat("a", 16<<10)} {
			for _, callers := range []struct {
				name string
				n    int
			}{{"one", 1}, {"64", 64}} {
				b.Run(stream.name+"/"+name+"/"+callers.name, func(b *testing.B) {
					near, far := stream.make(b)
					server := rpc.Options{Handler: echo}.New(far)
					client := rpc.Options{}.New(near)
					b.ReportAllocs()
					b.ResetTimer()
					var wg sync.WaitGroup
					work := make(chan struct{}, callers.n)
					for range callers.n {
						wg.Go(func() {
							in := payload{Text: text, N: 42}
							for range work {
								var out payload
								if err := client.Call(b.Context(), "echo", &in, &out); err != nil ||
									out.N != 42 {
									b.Error(err)
									return
								}
							}
						})
					}
					if callers.n == 1 {
						in := payload{Text: text, N: 42}
						for range b.N {
							var out payload
							if err := client.Call(b.Context(), "echo", &in, &out); err != nil ||
								out.N != 42 {
								b.Fatal(err)
							}
						}
					} else {
						for range b.N {
							work <- struct{}{}
						}
					}
					close(work)
					wg.Wait()
					b.StopTimer()
					client.Close()
					server.Wait()
					client.Wait()
				})
			}
		}
	}
}
