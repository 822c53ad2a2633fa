package server_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// BenchmarkResourceUpdated measures an update of one resource, from ResourceUpdated until all
// subscribers have it, with 10,000 subscriptions of the modern era: on one connection, as over
// stdio, or each on its own, as over HTTP.
func BenchmarkResourceUpdated(b *testing.B) {
	const n = 10_000
	for _, bench := range []struct {
		name      string
		total     int
		different bool // each subscription is for another resource, and one of them is updated
		single    bool // all subscriptions are on one connection
	}{
		{"1 subscription", 1, false, true},
		{"same URI, one connection", n, false, true},
		{"same URI, own connections", n, false, false},
		{"different URIs, one connection", n, true, true},
		{"different URIs, own connections", n, true, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			o := quiet
			o.MaxSubscriptions = n
			s := o.New(server.Info{Name: "updates", Version: "1"}, nil)
			server.AddTool(s, mcp.Tool{Name: "none"},
				func(context.Context, struct{}) (string, error) { return "", nil })
			must(b, s.AddResourceTemplate(server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: "x:{i}", Name: "x"},
				Read: func(context.Context, string,
					map[string]string) (*mcp.ReadResourceResult, error) {
					return nil, nil
				}}))
			link := &counter{reached: make(chan struct{}, 1)}
			link.left.Store(int64(bench.total)) // acknowledgments
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{}, bench.total)
			var c *server.Conn
			for i := range bench.total {
				if c == nil || !bench.single {
					c = s.Integration().NewConn(b.Context(), server.ConnOptions{})
					defer c.Close()
				}
				uri := "x:0"
				if bench.different {
					uri = fmt.Sprint("x:", i)
				}
				m, err := rpc.ParseMessage(fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"_meta":{%s},"notifications":{"resourceSubscriptions":[%q]}}}`,
					i, modern, uri))
				assert.Assert(b, err == nil)
				go func() {
					_, _ = c.Handle(ctx, m.Request(), link)
					ended <- struct{}{}
				}()
			}
			<-link.reached
			subscribers := bench.total
			if bench.different {
				subscribers = 1
			}
			update := func() {
				link.left.Store(int64(subscribers))
				s.ResourceUpdated("x:0")
				<-link.reached
			}
			update() // the subscriptions are active
			b.ReportAllocs()
			for b.Loop() {
				update()
			}
			cancel()
			for range bench.total {
				<-ended
			}
		})
	}
}

// A counter is a link that counts notifications down.
type counter struct {
	left    atomic.Int64
	reached chan struct{} // receives a value when none is left
}

func (c *counter) Notify(_ context.Context, _ string, params any) error {
	if _, err := params.(rpc.Appender).AppendJSON(nil); err != nil {
		return err
	}
	if c.left.Add(-1) == 0 {
		c.reached <- struct{}{}
	}
	return nil
}

func (c *counter) Call(context.Context, string, any, any) error { return rpc.ErrClosed }
