package client

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

type duplex struct {
	io.ReadCloser
	io.WriteCloser
}

func (d duplex) Close() error {
	d.WriteCloser.Close()
	return d.ReadCloser.Close()
}

// echoServer answers with as little work as possible, over pipes like those of a process.
func echoServer(b *testing.B) *Client {
	r1, w1, _ := os.Pipe()
	r2, w2, _ := os.Pipe()
	server := rpc.Options{Handler: func(_ context.Context, r *rpc.Request) (any, error) {
		if r.Method == mcp.MethodDiscover {
			return json.RawMessage(discovered), nil
		}
		return json.RawMessage(
				`{"resultType":"complete","content":[{"type":"text","text":"0123456789012345678901234567890123456789012345678901234567890123"}]}`),
			nil
	}}.New(duplex{r1, w2})
	c, err := Connect(context.Background(), Stream(duplex{r2, w1}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(); c.Wait(); server.Wait() })
	return c
}

func BenchmarkCall(b *testing.B) {
	type args struct {
		Text string `json:"text"`
	}
	a := args{pad(64)}
	raw := json.RawMessage(`{"text":"` + pad(64) + `"}`)
	typed := func(c *Client) error {
		_, err := c.CallTool(context.Background(), "echo", a)
		return err
	}
	for name, call := range map[string]func(c *Client) error{
		"raw": func(c *Client) error {
			_, err := c.CallToolRaw(context.Background(), "echo", raw)
			return err
		},
		"typed": typed,
		"progress": func(c *Client) error {
			_, err := c.CallTool(context.Background(), "echo", a,
				OnProgress(func(mcp.ProgressParams) {}))
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := echoServer(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := call(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("typed, 64 in flight", func(b *testing.B) {
		c := echoServer(b)
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := typed(c); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
