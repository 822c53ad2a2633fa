package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Start a long call, do something else, and get the result later. A caller with nothing else to do
// uses CallTool, which waits.
func ExampleClient_StartTool() {
	ctx := context.Background()
	s := server.Options{Tasks: server.TaskOptions{PollInterval: 100 * time.Millisecond}}.New(
		server.Info{Name: "mill", Version: "1.0.0"}, dispatch.NewCatalog())
	grinding := make(chan struct{})
	_ = s.AddRawTool(server.RawTool{
		Tool:  mcp.Tool{Name: "grind", InputSchema: json.RawMessage(`{"type":"object"}`)},
		Tasks: mcp.TaskOptional,
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			<-grinding
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: "200 sacks of flour"}}}, nil
		},
	})
	here, there := net.Pipe()
	go s.Serve(ctx, there)

	c, err := client.Connect(ctx, client.Stream(here))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	task, err := c.StartTool(ctx, "grind", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(task.State().Status)
	close(grinding)
	result, err := c.Task(task.ID()).Wait(ctx) // or task.Wait, in the same process
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// working
	// 200 sacks of flour
}
