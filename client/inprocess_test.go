package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// eras runs a test for both eras.
func eras(t *testing.T, f func(t *testing.T, era mcp.Era)) {
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		t.Run(era.String(), func(t *testing.T) { f(t, era) })
	}
}

// newServer returns a server without operations.
func newServer(o server.Options) *server.Server {
	return o.New(server.Info{Name: "real", Version: "1"}, dispatch.NewCatalog())
}

// connectTo returns a client of a server in this process. It is closed when the test ends.
func connectTo(t *testing.T, s *server.Server, o Options) *Client {
	t.Helper()
	c, err := o.Connect(t.Context(), streamTo(t, s))
	assert.NilError(t, err)
	t.Cleanup(func() { shut(t, c) })
	return c
}

func streamTo(t *testing.T, s *server.Server) Transport {
	here, there := net.Pipe()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- s.Serve(ctx, there) }()
	t.Cleanup(func() { cancel(); here.Close(); <-ended })
	return Stream(here)
}

// addTool adds a tool whose result is the text that f returns.
func addTool(t *testing.T, s *server.Server, name string,
	f func(ctx context.Context) (string, error)) {
	t.Helper()
	assert.NilError(t,
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				text, err := f(ctx)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}},
					nil
			}}))
}

// addResource adds a resource whose contents are the text that f returns.
func addResource(t *testing.T, s *server.Server, uri string,
	f func(ctx context.Context) (string, error)) {
	t.Helper()
	assert.NilError(t, s.AddResource(server.Resource{Resource: mcp.Resource{URI: uri, Name: uri},
		Read: func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			text, err := f(ctx)
			if err != nil {
				return nil, err
			}
			return &mcp.ReadResourceResult{
				Contents: []mcp.ResourceContents{{URI: uri, Text: text}}}, nil
		}}))
}

// addPrompt adds a prompt whose message is the text that f returns.
func addPrompt(t *testing.T, s *server.Server, name string,
	f func(ctx context.Context) (string, error)) {
	t.Helper()
	assert.NilError(t,
		s.AddPrompt(server.Prompt{
			Prompt: mcp.Prompt{Name: name, Arguments: []mcp.PromptArgument{{Name: "city"}}},
			Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult,
				error) {
				text, err := f(ctx)
				if err != nil {
					return nil, err
				}
				return &mcp.GetPromptResult{
					Messages: []mcp.PromptMessage{
						{Role: mcp.RoleUser,
							Content: &mcp.TextContent{Text: text + arguments["city"]}}}}, nil
			},
			Complete: func(_ context.Context, argument, typed string,
				settled map[string]string) (mcp.Completion, error) {
				return mcp.Completion{Values: []string{fmt.Sprint(argument, typed, settled)}}, nil
			}}))
}

func say(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}
