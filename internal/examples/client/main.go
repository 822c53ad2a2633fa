// Command client starts an MCP server, lists its tools and calls one:
//
//	client TOOL ARGUMENTS COMMAND [ARGUMENT...]
//
// ARGUMENTS are a JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/stdwire/stdwire/client"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: client TOOL ARGUMENTS COMMAND [ARGUMENT...]")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name, arguments string, command []string) error {
	c, err := client.Spawn(ctx, command[0], command[1:]...)
	if err != nil {
		return err
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name, "-", tool.Description)
	}
	text, err := client.CallAs[string](ctx, c, name, json.RawMessage(arguments))
	if err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}
