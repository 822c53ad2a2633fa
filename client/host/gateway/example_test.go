package gateway_test

import (
	"context"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// Offer the tools of two other servers, beside the server's own.
func Example() {
	ctx := context.Background()
	s := server.New(server.Info{Name: "all", Version: "1.0.0"}, dispatch.NewCatalog())
	g := gateway.Options{}.New(s)
	defer g.Close()
	for _, id := range []string{"oslo", "bergen"} {
		_ = g.Add(gateway.Upstream{Server: host.Server{ID: id,
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				// or o.Spawn(ctx, client.Command{Path: "weather-server"})
				return o.Connect(ctx, weather(id))
			}}})
	}
	g.Settle(ctx)

	clientEnd, serverEnd := net.Pipe()
	go s.Serve(ctx, serverEnd) // or s.ServeStdio(ctx)
	c, err := client.Connect(ctx, client.Stream(clientEnd))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.Name + ": " + tool.Description)
	}
	result, err := c.CallToolRaw(ctx, "oslo__weather_get", nil)
	fmt.Println(err, len(result) > 0)
	// Output:
	// bergen__weather_get: [bergen] The weather in bergen.
	// oslo__weather_get: [oslo] The weather in oslo.
	// <nil> true
}

// weather connects to a server in this process.
func weather(city string) client.Transport {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "weather.get", Summary: "The weather in " + city + ".",
			Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "light rain", nil })
	clientEnd, serverEnd := net.Pipe()
	s := server.New(server.Info{Name: city, Version: "1"}, catalog)
	go s.Serve(context.Background(), serverEnd)
	return client.Stream(clientEnd)
}
