package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A minimal image and a minimal audio file.
var (
	picture = decoded(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	sound = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func text(format string, args ...any) mcp.Content {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func content(blocks ...mcp.Content) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: blocks}, nil
}

func embedded(uri string) mcp.Content {
	return &mcp.EmbeddedResource{
		Resource: mcp.ResourceContents{URI: uri, MIMEType: "text/plain",
			Text: "This is an embedded resource content."}}
}

// A call is the function of a tool.
type call = func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error)

// with returns a call with typed arguments.
func with[In any](fn func(ctx context.Context, in In) (*mcp.CallToolResult, error)) call {
	return func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		var in In
		if err := mcp.Unmarshal(arguments, &in); err != nil {
			return nil, err
		}
		return fn(ctx, in)
	}
}

// A toolDefinition is a tool without options.
type toolDefinition struct {
	name, description, input string // input is a JSON Schema; "": any object
	call                     call
}

// simples are the tools of the core scenarios.
var simples = []toolDefinition{
	{"test_simple_text", "Returns a simple text.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(text("This is a simple text response for testing."))
		}},
	{"test_image_content", "Returns a picture.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(&mcp.ImageContent{Data: picture, MIMEType: "image/png"})
		}},
	{"test_audio_content", "Returns a sound.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(&mcp.AudioContent{Data: sound, MIMEType: "audio/wav"})
		}},
	{"test_embedded_resource", "Returns a resource.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(embedded("test://embedded-resource"))
		}},
	{"test_multiple_content_types", "Returns a text, a picture and a resource.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(text("Multiple content types test:"),
				&mcp.ImageContent{Data: picture, MIMEType: "image/png"},
				embedded("test://mixed-content-resource"))
		}},
	{"test_error_handling", "Fails.", "",
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			result, err := content(text("This tool intentionally returns an error for testing"))
			result.IsError = true
			return result, err
		}},
	{"test_tool_with_logging", "Logs while it works.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			for i, message := range []string{"Tool execution started", "Tool processing data",
				"Tool execution completed"} {
				if err := pause(ctx, time.Duration(min(i, 1))*50*time.Millisecond); err != nil {
					return nil, err
				}
				server.Logger(ctx).InfoContext(ctx, message)
			}
			return content(text("Tool with logging executed successfully"))
		}},
	{"test_logging_tool", "Logs, if it is asked to.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			server.Logger(ctx).InfoContext(ctx, "working")
			return content(text("Logged"))
		}},
	{"test_tool_with_progress", "Reports progress.", "",
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			for i, done := range []float64{0, 50, 100} {
				if err := pause(ctx, time.Duration(min(i, 1))*50*time.Millisecond); err != nil {
					return nil, err
				}
				server.Progress(ctx, done, 100, fmt.Sprintf("Completed step %g of 100", done))
			}
			return content(text("Done"))
		}},
	{"json_schema_2020_12_tool", "Has a schema with all that JSON Schema 2020-12 offers.",
		schema202012, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return content(text("The schema fits."))
		}},
	{"test_x_mcp_header", "Has an argument that is mirrored in a header.",
		`{"type":"object","properties":{` +
			`"region":{"type":"string","description":"Where to run.","x-mcp-header":"Region"},"level":{"type":"integer"}},"required":["region"]}`,
		with(func(_ context.Context, in struct {
			Region string `json:"region"`
		}) (*mcp.CallToolResult, error) {
			return content(text("region %s", in.Region))
		})},
}

const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},` +
	`"additionalProperties":false}`

// pause waits for d, or until the call is cancelled.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func addTools(s *server.Server, tools []toolDefinition) error {
	for _, t := range tools {
		made := server.RawTool{Tool: mcp.Tool{Name: t.name, Description: t.description},
			Call: t.call}
		if t.input != "" {
			made.InputSchema = json.RawMessage(t.input)
		}
		if err := s.AddRawTool(made); err != nil {
			return err
		}
	}
	return nil
}

// addChanging adds the tools that change lists and resources.
func addChanging(s *server.Server) error {
	change := func(add func() error) call {
		return func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			if err := add(); err != nil {
				return nil, err
			}
			return content(text("Changed"))
		}
	}
	nothing := func(context.Context, json.RawMessage) (*mcp.CallToolResult,
		error) {
		return content(text("Nothing"))
	}
	return addTools(s, []toolDefinition{
		{"test_trigger_tool_change", "Changes the list of tools.", "", change(func() error {
			return s.AddRawTool(
				server.RawTool{Tool: mcp.Tool{Name: "transient_tool", Description: "Comes and stays."},
					Call: nothing})
		})},
		{"test_trigger_prompt_change", "Changes the list of prompts.", "", change(func() error {
			return s.AddPrompt(
				server.Prompt{Prompt: mcp.Prompt{Name: "transient_prompt",
					Description: "Comes and stays."}, Get: say("Nothing")})
		})},
		{"test_trigger_resource_update", "Says that the watched resource has changed.", "",
			change(func() error {
				s.ResourceUpdated("test://watched-resource")
				return nil
			})},
	})
}
