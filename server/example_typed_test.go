package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// The input schema comes from the type of the arguments, and the result is structured content and
// text. The message of a dispatch.Error reaches the model.
func ExampleAddTool() {
	type Division struct {
		A int `json:"a" doc:"What is divided."`
		B int `json:"b" default:"1"`
	}
	type Quotient struct {
		Quotient  int `json:"quotient"`
		Remainder int `json:"remainder"`
	}
	s := server.New(server.Info{Name: "calculator", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "divide", Description: "Divides two integers."},
		func(_ context.Context, in Division) (Quotient, error) {
			if in.B == 0 {
				return Quotient{}, dispatch.InvalidArgument("/b", "must not be zero")
			}
			return Quotient{in.A / in.B, in.A % in.B}, nil
		})
	talkTo(s, hello,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"divide","arguments":{"a":7,"b":2}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"divide","arguments":{"a":7,"b":0}}}`)
	// Output:
	// {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"calculator","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"quotient\":3,\"remainder\":1}"}],"structuredContent":{"quotient":3,"remainder":1}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"invalid arguments: b must not be zero"}],"isError":true}}
}

// A handler asks with the form of a Go type.
func ExampleAsk() {
	type Order struct {
		Size string `json:"size" enum:"small,large"`
	}
	s := server.New(server.Info{Name: "cafe", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "order"},
		func(ctx context.Context, _ struct{}) (string, error) {
			order, action, err := server.Ask[Order](ctx, "order", "Which size?")
			if err != nil || action != mcp.ElicitAccept {
				return "nothing was ordered", err
			}
			return "one " + order.Size + " coffee", nil
		})

	here, there := net.Pipe()
	go s.Serve(context.Background(), there)
	c, err := client.Options{
		OnElicit: func(_ context.Context, asked mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(asked.Message)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept,
				Content: json.RawMessage(`{"size":"large"}`)}, nil
		}}.Connect(context.Background(), client.Stream(here))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(client.CallAs[string](context.Background(), c, "order", nil))
	// Output:
	// Which size?
	// one large coffee <nil>
}
