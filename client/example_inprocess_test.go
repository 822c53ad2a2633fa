package client_test

import (
	"context"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A client and a server in one process, over a pipe. In tests, mcptest.Connect does the same.
func ExampleStream() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "weather"},
		func(context.Context, struct{}) (string, error) { return "light rain", nil })

	here, there := net.Pipe()
	go s.Serve(ctx, there)
	c, err := client.Connect(ctx, client.Stream(here))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	tools, err := client.All(c.Tools(ctx))
	fmt.Println(len(tools), err)
	text, err := client.CallAs[string](ctx, c, "weather", nil)
	fmt.Println(text, err)
	// Output:
	// 1 <nil>
	// light rain <nil>
}
