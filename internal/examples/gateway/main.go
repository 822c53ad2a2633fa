// Command gateway is an MCP server that offers the items of other servers, which it starts:
//
//	gateway NAME=COMMAND...
package main

import (
	"context"
	"log"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/server"
)

func main() {
	s := server.New(server.Info{Name: "gateway", Version: "1.0.0"}, nil)
	g := gateway.Options{}.New(s)
	for _, arg := range os.Args[1:] {
		name, command, _ := strings.Cut(arg, "=")
		err := g.Add(gateway.Upstream{Server: host.Server{ID: name,
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				return o.Spawn(ctx, client.Command{Path: command})
			}}})
		if err != nil {
			log.Fatal(err)
		}
	}
	g.Settle(context.Background()) // lists are complete when the first client asks
	err := s.ServeStdio(context.Background())
	g.Close() // ends the servers
	if err != nil {
		log.Fatal(err)
	}
}
