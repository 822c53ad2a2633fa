// Command extension adds an extension of its own to MCP: a server says how far it is with its work,
// by a method and by notifications, to clients that know the extension. A client of either era
// calls it; one that does not declare the extension is told that there is no such method.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const (
	id       = "com.example/weather"
	forecast = "weather/forecast"
	warning  = "notifications/weather/warning"
)

type settings struct {
	Units string `json:"units"`
}

type report struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
	Units   string `json:"units"`
}

// weather is the extension of the server.
var weather = server.Extension{
	ID: id,
	Methods: map[string]func(context.Context, json.RawMessage) (any, error){
		forecast: func(ctx context.Context, params json.RawMessage) (any, error) {
			var p struct {
				City string `json:"city"`
			}
			if err := mcp.Unmarshal(params, &p); err != nil || p.City == "" {
				return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: city is required")
			}
			r := report{City: p.City, Degrees: 3, Units: "celsius"}
			var wanted settings // of the client
			if raw, ok := server.ClientExtension(ctx, id); ok {
				_ = mcp.Unmarshal(raw, &wanted)
			}
			if wanted.Units == "fahrenheit" {
				r.Degrees, r.Units = 37, wanted.Units
			}
			err := server.NotifyExtension(ctx, id, warning, map[string]string{"text": "black ice"})
			return r, err
		},
	},
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	s := server.Options{Extensions: []server.Extension{weather}}.New(
		server.Info{Name: "weather", Version: "1"}, nil)
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		warned := make(chan string, 1)
		c, err := connect(ctx, s, client.Options{Era: era, Extensions: []client.Extension{{
			ID: id, Settings: settings{Units: "fahrenheit"},
			Notifications: map[string]func(json.RawMessage){
				warning: func(params json.RawMessage) { warned <- string(params) },
			},
		}}})
		if err != nil {
			return err
		}
		var r report
		raw, err := c.CallExtension(ctx, id, forecast, map[string]string{"city": "Oslo"})
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		if err == nil {
			fmt.Fprintln(out, era, r.City, r.Degrees, r.Units, <-warned)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	c, err := connect(ctx, s, client.Options{})
	if err != nil {
		return err
	}
	_, err = c.CallExtension(ctx, id, forecast, map[string]string{"city": "Oslo"})
	fmt.Fprintln(out, err)
	return c.Close()
}

func connect(ctx context.Context, s *server.Server, o client.Options) (*client.Client, error) {
	here, there := net.Pipe()
	go func() { _ = s.Serve(ctx, there) }()
	return o.Connect(ctx, client.Stream(here))
}
