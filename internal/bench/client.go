package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	mcpgotransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A clientTarget is the server to call.
type clientTarget struct {
	url string // "" means a server process over stdio
	era string
}

// command returns the command line of the server over stdio.
func (t clientTarget) command() (path string, args []string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return self, []string{"-answer", "stdio", "-era", t.era}
}

func (t clientTarget) revision() string {
	if t.era == "modern" {
		return "2026-07-28"
	}
	return "2025-11-25"
}

// A session calls the tool echo of a server.
type session struct {
	call  func(ctx context.Context, text string) (echoed string, err error)
	close func() error
}

type clientProgram struct {
	name    string
	connect func(ctx context.Context, t clientTarget) (*session, error)
}

// clientPrograms are the clients with their library's defaults, except that they keep the idle
// connections of all calls in flight.
var clientPrograms = []clientProgram{
	{"stdwire", func(ctx context.Context, t clientTarget) (*session, error) {
		o := client.Options{
			Era: map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy}[t.era]}
		var c *client.Client
		var err error
		if t.url == "" {
			path, args := t.command()
			c, err = o.Spawn(ctx, client.Command{Path: path, Args: args})
		} else {
			c, err = o.Connect(ctx, streamable.Dial(t.url))
		}
		if err != nil {
			return nil, err
		}
		return &session{func(ctx context.Context, text string) (string, error) {
			r, err := c.CallTool(ctx, "echo", echoText{text})
			if err != nil {
				return "", err
			}
			return r.Content[0].(*mcp.TextContent).Text, nil
		}, c.Close}, nil
	}},
	{"go-sdk", func(ctx context.Context, t clientTarget) (*session, error) {
		var transport gosdk.Transport = &gosdk.StreamableClientTransport{Endpoint: t.url,
			HTTPClient: newHTTPClient()}
		if t.url == "" {
			path, args := t.command()
			transport = &gosdk.CommandTransport{Command: exec.Command(path, args...)}
		}
		c, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).
			Connect(ctx, transport, &gosdk.ClientSessionOptions{ProtocolVersion: t.revision()})
		if err != nil {
			return nil, err
		}
		return &session{func(ctx context.Context, text string) (string, error) {
			r, err := c.CallTool(ctx,
				&gosdk.CallToolParams{Name: "echo", Arguments: echoText{text}})
			if err != nil {
				return "", err
			}
			return r.Content[0].(*gosdk.TextContent).Text, nil
		}, c.Close}, nil
	}},
	{"mcp-go", func(ctx context.Context, t clientTarget) (*session, error) {
		var c *mcpgoclient.Client
		if t.url == "" {
			path, args := t.command()
			var err error
			if c, err = mcpgoclient.NewStdioMCPClient(path, nil, args...); err != nil {
				return nil, err
			}
		} else {
			transport, err := mcpgotransport.NewStreamableHTTP(t.url,
				mcpgotransport.WithHTTPBasicClient(newHTTPClient()),
				mcpgotransport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				return nil, err
			}
			c = mcpgoclient.NewClient(transport)
			if err := c.Start(ctx); err != nil {
				return nil, err
			}
		}
		hello := mcpgo.InitializeRequest{}
		hello.Params.ProtocolVersion = t.revision()
		hello.Params.ClientInfo = mcpgo.Implementation{Name: "bench", Version: "1"}
		if _, err := c.Initialize(ctx, hello); err != nil {
			return nil, err
		}
		return &session{func(ctx context.Context, text string) (string, error) {
			request := mcpgo.CallToolRequest{}
			request.Params.Name, request.Params.Arguments = "echo", echoText{text}
			r, err := c.CallTool(ctx, request)
			if err != nil {
				return "", err
			}
			return r.Content[0].(mcpgo.TextContent).Text, nil
		}, c.Close}, nil
	}},
	{"net/http", func(_ context.Context, t clientTarget) (*session, error) {
		// the lower bound: it sends the same bytes each time
		if t.url == "" {
			return nil, errors.ErrUnsupported
		}
		c := newHTTPClient()
		return &session{func(ctx context.Context, text string) (string, error) {
			params := `"name":"echo","arguments":{"text":"` + text + `"}`
			if t.era == "modern" {
				params += "," + modernMeta
			}
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url,
				strings.NewReader(body))
			if err != nil {
				return "", err
			}
			r.Header["Content-Type"] = []string{"application/json"}
			r.Header["Accept"] = []string{"application/json, text/event-stream"}
			r.Header["Mcp-Protocol-Version"] = []string{t.revision()}
			if t.era == "modern" {
				r.Header["Mcp-Method"], r.Header["Mcp-Name"] = []string{"tools/call"},
					[]string{"echo"}
			}
			response, err := c.Do(r)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			answer, err := io.ReadAll(response.Body)
			if err == nil && !bytes.Contains(answer, []byte(text)) {
				err = fmt.Errorf("the server says %s", answer)
			}
			return text, err
		}, func() error { return nil }}, nil
	}},
}

// newHTTPClient returns an HTTP client that keeps the connections of all calls in flight.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 64
	return &http.Client{Transport: transport}
}
