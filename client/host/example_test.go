package host_test

import (
	"context"
	"fmt"
	"net"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// Start a server at its first use.
func Example() {
	ctx := context.Background()
	m := host.NewManager(nil)
	defer m.Close()
	err := m.Add(host.Server{ID: "weather",
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			// or o.Spawn(ctx, client.Command{Path: "weather-server"})
			return o.Connect(ctx, weatherServer())
		}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Status()[0].State)
	err = m.UseIdempotent(ctx, "weather", "", func(c *client.Client) error {
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(host.PublicName("weather", tool.Name, host.DefaultMaxName))
		}
		return nil
	})
	fmt.Println(err, m.Status()[0].State)
	// Output:
	// stopped
	// weather__weather_get
	// <nil> ready
}

// weatherServer connects to a server in this process.
func weatherServer() client.Transport {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "light rain", nil })
	s := server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog)
	clientEnd, serverEnd := net.Pipe()
	go s.Serve(context.Background(), serverEnd)
	return client.Stream(clientEnd)
}

// Allow the tools that read, except one.
func ExampleFilter() {
	f := host.Filter{Allow: []string{"read_*"}, Deny: []string{"read_secret"}}
	for _, name := range []string{"read_file", "read_secret", "write_file"} {
		fmt.Println(name, f.Allows(name))
	}
	// Output:
	// read_file true
	// read_secret false
	// write_file false
}
