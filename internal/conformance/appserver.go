package conformance

import (
	"context"
	"encoding/json"
	"os"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// ServeApp serves, on stdin and stdout, an app whose page is the named file, and these tools:
//
//	show     has the app, and returns its arguments
//	refresh  is for the app alone
//	destroy  is for the app alone, and says that it destroys something
//	secret   is for the model alone
//	block    has the app, and runs until it is cancelled
//
// The app asks for the origins, and for the camera and an origin of its own if there are any.
func ServeApp(ctx context.Context, page string, origins ...string) error {
	html, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	s := server.New(server.Info{Name: "app", Version: "1"}, nil)
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}
	}
	for name, call := range map[string]func(context.Context, json.RawMessage) (*mcp.CallToolResult,
		error){
		"show": func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return text(string(arguments)), nil
		},
		"refresh": func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return text("refreshed"), nil
		},
		"destroy": func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return text("destroyed"), nil
		},
		"secret": func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return text("the secret"), nil
		},
		"block": func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
	} {
		destructive := name == "destroy"
		if err := s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
			InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
			Call: call}); err != nil {
			return err
		}
	}
	app := server.App{URI: "ui://app/page.html", Name: "page", HTML: html,
		Tools: map[string][]string{"show": nil, "refresh": {mcp.VisibleToApp},
			"destroy": {mcp.VisibleToApp},
			"secret":  {mcp.VisibleToModel}, "block": nil}}
	if len(origins) > 0 {
		app.CSP = &mcp.AppCSP{ConnectDomains: origins}
		app.Permissions = &mcp.AppPermissions{Camera: &mcp.Object{}}
		app.Domain = "own.example.com"
	}
	if err := s.AddApp(app); err != nil {
		return err
	}
	return s.ServeStdio(ctx)
}
