package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// RulesServer returns a server for tests of rules, with a tool of each kind, of which job runs as a
// task, and two resources. What its tools and resources return names their caller, as who returns
// it.
func RulesServer(name string, who func(context.Context) string) (*server.Server, error) {
	s := server.Options{Logger: slog.New(slog.DiscardHandler),
		Tasks: server.TaskOptions{PollInterval: 10 * time.Millisecond}}.New(
		server.Info{Name: name, Version: "1"}, dispatch.NewCatalog())
	schema := json.RawMessage(
		`{"type":"object","properties":{"owner":{"type":"string"},"path":{"type":"string"}}}`)
	yes, no := true, false
	for tool, hints := range map[string]mcp.ToolAnnotations{"look": {ReadOnlyHint: &yes},
		"change": {DestructiveHint: &no}, "drop": {}, "job": {ReadOnlyHint: &yes}} {
		t := server.RawTool{
			Tool: mcp.Tool{Name: tool, Description: "Runs " + tool + ".", InputSchema: schema,
				Annotations: &hints},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.TextContent{Text: tool + " for " + who(ctx)}}}, nil
			}}
		if tool == "job" {
			t.Tasks = mcp.TaskOptional
		}
		if err := s.AddRawTool(t); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{"public", "secret"} {
		uri := "data:" + name + "/" + path
		if err := s.AddResource(server.Resource{Resource: mcp.Resource{URI: uri, Name: path},
			Read: func(ctx context.Context, _ string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
					{URI: uri, Text: path + " for " + who(ctx)}}}, nil
			}}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ServeRules serves a RulesServer on stdin and stdout, whose caller is in the variable CALLER. It
// writes its environment and its input to a new file in a directory.
func ServeRules(name, dir string) error {
	record, err := os.Create(filepath.Join(dir, fmt.Sprint(os.Getpid())))
	if err != nil {
		return err
	}
	defer record.Close()
	if _, err = record.WriteString(strings.Join(os.Environ(), "\n") + "\n"); err != nil {
		return err
	}
	s, err := RulesServer(name, func(context.Context) string { return os.Getenv("CALLER") })
	if err != nil {
		return err
	}
	return s.Serve(context.Background(), struct {
		io.Reader
		io.WriteCloser
	}{io.TeeReader(os.Stdin, record), os.Stdout})
}
