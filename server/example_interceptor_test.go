package server_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An audit log of all calls: tools, prompts and resources, however they were added.
func Example_interceptor() {
	audit := func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			began := time.Now()
			result, err := next(ctx, i)
			fmt.Println(i.Kind, i.Name, string(i.Arguments), "failed:",
				err != nil || result.IsError(), "slow:", time.Since(began) > time.Minute)
			return result, err
		}
	}
	s := server.Options{Interceptors: []dispatch.Interceptor{audit}}.New(
		server.Info{Name: "calculator", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "divide", Description: "Divides integers."},
		func(_ context.Context, in struct {
			A int `json:"a"`
			B int `json:"b"`
		}) (int, error) {
			return in.A / in.B, nil
		})

	ctx := context.Background()
	near, far := net.Pipe()
	go s.Serve(ctx, far)
	c, err := client.Options{}.Connect(ctx, client.Stream(near))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	half, err := client.CallAs[int](ctx, c, "divide", map[string]int{"a": 6, "b": 2})
	fmt.Println(half, err)
	_, err = client.CallAs[int](ctx, c, "divide", map[string]int{"a": 6})
	fmt.Println(err)

	// Output:
	// tool divide {"a":6,"b":2} failed: false slow: false
	// 3 <nil>
	// tool divide {"a":6} failed: true slow: false
	// server "server": tool "divide": invalid arguments: missing required property "b"
}
