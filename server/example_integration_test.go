package server_test

import (
	"context"
	"fmt"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A queueLink queues the methods of notifications instead of sending them to a client.
type queueLink chan string

func (l queueLink) Notify(_ context.Context, method string, _ any) error {
	l <- method
	return nil
}

func (queueLink) Call(context.Context, string, any, any) error {
	return rpc.ErrMethodNotFound // this client accepts no requests
}

// receive passes a client's message to its connection and prints the response.
func receive(ctx context.Context, conn *server.Conn, link server.Link, message string) {
	m, err := rpc.ParseMessage([]byte(message))
	if err != nil {
		fmt.Println(err)
		return
	}
	response, _ := rpc.AppendResponse(ctx, nil,
		func(ctx context.Context, req *rpc.Request) (any, error) {
			return conn.Handle(ctx, req, link)
		}, m.Request())
	if len(response) > 0 {
		fmt.Printf("%s\n", response)
	}
}

// A transport makes a connection for each client and passes it the client's messages. A gateway
// changes the lists of the server, and announces related changes with one notification.
func ExampleIntegration() {
	ctx := context.Background()
	s := server.New(server.Info{Name: "files", Version: "1.0.0"}, dispatch.NewCatalog())
	s.Integration().Declare(mcp.KindResource)
	link := make(queueLink, 10)
	conn := s.Integration().NewConn(ctx, server.ConnOptions{Link: link, Principal: "ada"})
	defer conn.Close()
	receive(ctx, conn, link, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
		"protocolVersion":"2025-11-25","capabilities":{},
		"clientInfo":{"name":"c","version":"1"}}}`)
	receive(ctx, conn, link, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)

	release := s.Integration().DeferListChanged()
	for _, uri := range []string{"mem://a", "mem://b"} {
		if err := s.AddResource(server.Resource{
			Resource: mcp.Resource{Name: uri, URI: uri},
			Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
				return nil, server.ResourceNotFound(uri)
			},
		}); err != nil {
			fmt.Println(err)
		}
	}
	release()
	fmt.Println(<-link, "and", len(link), "more")
	receive(ctx, conn, link, `{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"files","version":"1.0.0"}}}
	// notifications/resources/list_changed and 0 more
	// {"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"mem://a","name":"mem://a"},{"uri":"mem://b","name":"mem://b"}]}}
}
