package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// validatedCall returns the function of a tool with Call.
func (s *Server) validatedCall(t *RawTool) (useFunc, error) {
	input, err := schema.Compile(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var output *schema.Schema
	if t.OutputSchema != nil {
		if output, err = schema.Compile(t.OutputSchema); err != nil {
			return nil, err
		}
	}
	validate, name, call := input.ValidateAndFill, t.Name, t.Call
	if s.o.Dispatch.Lenient {
		validate = func(arguments []byte) ([]byte, error) {
			filled, repairs, err := input.ValidateLeniently(arguments)
			if repairs != nil {
				s.log.Debug("the arguments of a call were repaired", "tool", name, "repairs", repairs)
			}
			return filled, err
		}
	}
	return func(ctx context.Context, r *request, arguments json.RawMessage) (*Result, error) {
		arguments, err := validate(orEmptyObject(arguments))
		if err != nil {
			return r.toolError("Invalid arguments: " + err.Error())
		}
		result, err := call(ctx, arguments)
		if err != nil {
			return r.handlerError(err)
		}
		if output != nil && result != nil && !result.IsError {
			if err := output.Validate(result.StructuredContent); err != nil {
				return nil, r.logError(fmt.Errorf(
					"the result breaks the output schema of the tool %s: %w", name, err))
			}
		}
		return r.rawToolResult(result)
	}, nil
}

// orEmptyObject returns arguments, or an object if there are none.
func orEmptyObject(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 || string(arguments) == "null" {
		return json.RawMessage(`{}`)
	}
	return arguments
}

// toolError returns a result with IsError for invalid arguments, which the model can correct
// (2026-07-28, server/tools, Error Handling).
func (r *request) toolError(message string) (*Result, error) {
	return r.rawToolResult(
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true})
}

// rawToolResult returns a tool's result in the form of the client's era.
func (r *request) rawToolResult(result *mcp.CallToolResult) (*Result, error) {
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return a shared result
	if own.Content == nil && own.StructuredContent != nil {
		own.Content = []mcp.Content{&mcp.TextContent{Text: string(own.StructuredContent)}}
	}
	own.Content = slices.Clone(own.Content)
	for i, block := range own.Content {
		own.Content[i] = r.era.content(block)
	}
	if !r.era.allowsStructured(own.StructuredContent) {
		own.StructuredContent = nil
	}
	return r.encodeResult(&own, &own.Result)
}
