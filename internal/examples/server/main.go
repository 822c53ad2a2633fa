// Command server is an MCP server with one tool, on standard input and output.
package main

import (
	"context"
	"log"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

type query struct {
	City string `json:"city" doc:"City to look up."`
}

func main() {
	s := server.New(server.Info{Name: "weather", Version: "1.0.0"}, nil)
	server.AddTool(s, mcp.Tool{Name: "weather_get", Description: "The weather in a city."},
		func(_ context.Context, q query) (string, error) { return "light rain in " + q.City, nil })
	if err := s.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
