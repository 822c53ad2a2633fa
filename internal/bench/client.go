package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/client"
)

// clientPrograms spawn the same server, stdwire's, and call its echo.
var clientPrograms = []struct {
	name    string
	connect func(ctx context.Context, path string) (call func(text string) error, close func() error, err error)
}{
	{"stdwire", func(ctx context.Context, path string) (func(string) error, func() error, error) {
		c, err := client.Spawn(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		return func(text string) error {
			_, err := c.CallTool(ctx, "echo", echoText{text})
			return err
		}, c.Close, nil
	}},
	{"go-sdk", func(ctx context.Context, path string) (func(string) error, func() error, error) {
		c, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).
			Connect(ctx, &gosdk.CommandTransport{Command: exec.Command(path)}, nil)
		if err != nil {
			return nil, nil, err
		}
		return func(text string) error {
			_, err := c.CallTool(ctx, &gosdk.CallToolParams{Name: "echo", Arguments: echoText{text}})
			return err
		}, c.Close, nil
	}},
	{"mcp-go", func(ctx context.Context, path string) (func(string) error, func() error, error) {
		c, err := mcpgoclient.NewStdioMCPClient(path, nil)
		if err != nil {
			return nil, nil, err
		}
		hello := mcpgo.InitializeRequest{}
		hello.Params.ProtocolVersion = "2025-11-25"
		hello.Params.ClientInfo = mcpgo.Implementation{Name: "bench", Version: "1"}
		if _, err := c.Initialize(ctx, hello); err != nil {
			return nil, nil, err
		}
		return func(text string) error {
			request := mcpgo.CallToolRequest{}
			request.Params.Name, request.Params.Arguments = "echo", echoText{text}
			_, err := c.CallTool(ctx, request)
			return err
		}, c.Close, nil
	}},
}

// clientSuite measures clients, 64 calls in flight, against one and the same server in a process of its own.
func clientSuite(d time.Duration) ([]measure, error) {
	dir, err := build()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var all []measure
	for _, p := range clientPrograms {
		ctx, cancel := context.WithCancel(context.Background())
		call, closed, err := p.connect(ctx, filepath.Join(dir, "stdwire"))
		if err != nil {
			cancel()
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		text := strings.Repeat("x", 64)
		m, err := benchmark(d, 64, func() error { return call(text) })
		_ = closed()
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		m.what, m.program = "client, 64 B, 64 in flight", p.name
		m.extra = fmt.Sprintf("%.0f calls/s, %s", 1e6/m.value, m.extra)
		all = append(all, m)
	}
	return all, nil
}
