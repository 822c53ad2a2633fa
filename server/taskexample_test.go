package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A small order is delivered at once, a large one becomes a task.
func ExampleBecomeTask() {
	s := server.New(server.Info{Name: "mill", Version: "1.0.0"}, dispatch.NewCatalog())
	err := s.AddRawTool(server.RawTool{
		Tool: mcp.Tool{Name: "grind",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"sacks":{"type":"integer"}},"required":["sacks"]}`)},
		Tasks: mcp.TaskOptional, TaskLater: true,
		Call: func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			var order struct{ Sacks int }
			if err := json.Unmarshal(arguments, &order); err != nil {
				return nil, err
			}
			if order.Sacks > 10 {
				if err := server.BecomeTask(ctx); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{
				Content: []mcp.Content{
					&mcp.TextContent{Text: fmt.Sprint(order.Sacks, " sacks of flour")}}}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
	}

	client, stream := net.Pipe()
	done := make(chan error)
	go func() { done <- s.Serve(context.Background(), stream) }()
	in := bufio.NewReader(client)
	ask := func(method, params string) (answer struct {
		Result struct {
			mcp.TaskResult
			Content json.RawMessage
		}
	}) {
		fmt.Fprintf(client,
			`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`+
				"\n", method, params)
		text, _ := in.ReadBytes('\n')
		if err := json.Unmarshal(text, &answer); err != nil {
			fmt.Println(err)
		}
		return answer
	}
	few := ask("tools/call", `"name":"grind","arguments":{"sacks":2}`).Result
	fmt.Println(few.ResultType, string(few.Content))
	many := ask("tools/call", `"name":"grind","arguments":{"sacks":200}`).Result
	fmt.Println(many.ResultType, many.Status)
	for many.Status == mcp.TaskWorking { // a real client would wait between these requests
		many = ask("tasks/get", `"taskId":"`+many.TaskID+`"`).Result
	}
	fmt.Println(many.Status)
	client.Close()
	<-done
	if err := s.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// complete [{"type":"text","text":"2 sacks of flour"}]
	// task working
	// completed
}
