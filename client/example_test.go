//go:build unix

package client_test

import (
	"context"
	"fmt"
	"os"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Query holds the arguments of the tool weather_get.
type Query struct {
	City string `json:"city"`
}

// Start a server, list its tools, call one.
func Example() {
	ctx := context.Background()
	c, err := client.Spawn(ctx, os.Args[0], "weather-server") // this test program is the server
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
		fmt.Println(tool.Name, "-", tool.Description)
	}
	result, err := c.CallTool(ctx, "weather_get", Query{City: "Oslo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// weather_get - Current weather.
	// 12 degrees, light rain
}

// If a server exits at once, Spawn fails at once, with the exit status and the last line of stderr.
func ExampleSpawn() {
	_, err := client.Options{Name: "weather"}.Spawn(context.Background(),
		client.Command{Path: os.Args[0], Args: []string{"crash"}})
	fmt.Println(err)
	// Output:
	// server "weather": exited with status 3 before answering: "boom: missing API key"
}
