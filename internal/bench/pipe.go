package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

type echoText struct {
	Text string `json:"text"`
}

// pipePrograms serve a stream until it ends. raw selects a tool without schema and types.
var pipePrograms = []struct {
	name  string
	serve func(raw bool, stream io.ReadWriteCloser)
}{
	{"stdwire", func(raw bool, stream io.ReadWriteCloser) {
		catalog := dispatch.NewCatalog()
		spec := dispatch.Spec{Name: "echo", Summary: "Echo.", Type: dispatch.Read}
		if raw {
			dispatch.Add(catalog, spec,
				func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
					return in, nil
				})
		} else {
			dispatch.Add(catalog, spec,
				func(_ context.Context, in echoText) (echoText, error) { return in, nil })
		}
		_ = server.New(server.Info{Name: "echo", Version: "1"}, catalog).Serve(context.Background(),
			stream)
	}},
	{"go-sdk", func(raw bool, stream io.ReadWriteCloser) {
		s := gosdk.NewServer(&gosdk.Implementation{Name: "echo", Version: "1"}, nil)
		tool := &gosdk.Tool{Name: "echo", Description: "Echo."}
		if raw {
			tool.InputSchema = json.RawMessage(`{"type":"object"}`)
			s.AddTool(tool, func(_ context.Context,
				r *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
				return &gosdk.CallToolResult{
						Content: []gosdk.Content{
							&gosdk.TextContent{Text: string(r.Params.Arguments)}}},
					nil
			})
		} else {
			gosdk.AddTool(s, tool,
				func(_ context.Context, _ *gosdk.CallToolRequest,
					in echoText) (*gosdk.CallToolResult, echoText, error) {
					return nil, in, nil
				})
		}
		_ = s.Run(context.Background(), &gosdk.IOTransport{Reader: stream, Writer: stream})
	}},
	{"mcp-go", func(raw bool, stream io.ReadWriteCloser) {
		options := []mcpgoserver.ServerOption{mcpgoserver.WithToolCapabilities(true)}
		if !raw {
			options = append(options, mcpgoserver.WithInputSchemaValidation(),
				mcpgoserver.WithOutputSchemaValidation())
		}
		s := mcpgoserver.NewMCPServer("echo", "1", options...)
		if raw {
			s.AddTool(mcpgo.NewTool("echo"),
				func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
					text, err := r.RequireString("text")
					return mcpgo.NewToolResultText(text), err
				})
		} else {
			s.AddTool(mcpgo.NewTool("echo", mcpgo.WithInputSchema[echoText](),
				mcpgo.WithOutputSchema[echoText]()),
				mcpgo.NewStructuredToolHandler(
					func(_ context.Context, _ mcpgo.CallToolRequest, in echoText) (echoText,
						error) {
						return in, nil
					}))
		}
		_ = mcpgoserver.NewStdioServer(s).Listen(context.Background(), stream, stream)
	}},
}

// pipeSuite measures tools/call in one process over io.Pipe, one call at a time, with a client that
// only writes and reads lines.
func pipeSuite(o options) ([]measure, error) {
	var all []measure
	for _, kind := range []string{"raw", "typed and validated"} {
		for _, p := range pipePrograms {
			if !o.measures(p.name) {
				continue
			}
			m, err := measurePipe(func(stream io.ReadWriteCloser) {
				p.serve(kind == "raw", stream)
			}, o.time)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			m.what, m.program = "tools/call "+kind+", 64 B", p.name
			all = append(all, m)
		}
	}
	return all, nil
}

func measurePipe(serve func(io.ReadWriteCloser), d time.Duration) (measure, error) {
	c, stop := startPipe(serve)
	defer stop()
	if err := c.open(); err != nil {
		return measure{}, err
	}
	frame := callFrame("echo", 7, strings.Repeat("x", 64))
	return benchmark(d, 1, func() error {
		_, err := c.exchange(frame)
		return err
	})
}

// startPipe serves a client over pipes in memory until stop is called.
func startPipe(serve func(io.ReadWriteCloser)) (c lineClient, stop func()) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(duplex{r1, w2})
	}()
	return lineClient{bufio.NewReaderSize(r2, 1<<16), w1}, func() {
		w1.Close()
		r2.Close()
		<-done
	}
}

// A lineClient is a minimal MCP client of the legacy era.
type lineClient struct {
	in  *bufio.Reader
	out io.Writer
}

const initializeFrame = initializeBegin + "{}" + initializeEnd
const initializeBegin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"bench","version":"1"},"capabilities":`
const initializeEnd = "}}\n"
const initializedFrame = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

func (c lineClient) open() error { return c.openWith("{}") }

// openWith performs the handshake with these client capabilities.
func (c lineClient) openWith(capabilities string) error {
	if _, err := c.exchange([]byte(initializeBegin + capabilities + initializeEnd)); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, initializedFrame)
	return err
}

func (c lineClient) exchange(frame []byte) ([]byte, error) {
	if len(frame) < 32<<10 { // fits into the buffer of a pipe
		if _, err := c.out.Write(frame); err != nil {
			return nil, err
		}
		return c.response()
	}
	written := make(chan error, 1)
	go func() {
		_, err := c.out.Write(frame)
		written <- err
	}()
	line, err := c.response()
	return line, errors.Join(err, <-written)
}

// response reads up to the next response, which is valid until the next read.
func (c lineClient) response() ([]byte, error) {
	for {
		line, err := c.in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			var rest []byte
			line = bytes.Clone(line)
			rest, err = c.in.ReadBytes('\n')
			line = append(line, rest...)
		}
		if err != nil {
			return nil, err
		}
		head := line[:min(len(line), 200)]
		switch {
		case bytes.Contains(head, []byte(`"method":"notifications/`)):
			continue
		case bytes.Contains(head, []byte(`"error":{`)),
			bytes.HasSuffix(bytes.TrimSpace(line), []byte(`"isError":true}}`)):
			return nil, fmt.Errorf("the server says %.300s", line)
		}
		return line, nil
	}
}

func callFrame(tool string, id int, text string) []byte {
	return fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`+
			"\n", id, tool, text)
}

// modern returns a call of callFrame as a modern client makes it.
func modern(frame []byte) []byte {
	return bytes.Replace(frame, []byte(`"name"`), []byte(modernMeta+`,"name"`), 1)
}
