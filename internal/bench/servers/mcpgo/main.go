// Command mcpgo is an echo server with mcp-go.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type text struct {
	Text string `json:"text"`
}

func main() {
	s := server.NewMCPServer("echo", "1", server.WithToolCapabilities(true),
		server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Returns its text."),
		mcp.WithInputSchema[text](), mcp.WithOutputSchema[text]()),
		mcp.NewStructuredToolHandler(
			func(_ context.Context, _ mcp.CallToolRequest, in text) (text, error) {
				return in, nil
			}))
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
