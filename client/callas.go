package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CallAs calls a tool and decodes one of these into a T:
//
//   - the data of an envelope {"success":true,"data":…,"error":null}, the result of an operation
//   - other structured content
//   - without structured content, the text of the result: unchanged if T is a string, else as JSON
//
// A result with IsError becomes a [*ToolError]. Every error is a [*CallError], as those of
// [Client.CallTool] are.
func CallAs[T any](ctx context.Context, c *Client, tool string, args any, opts ...CallOption) (T,
	error) {
	var value T
	result, err := c.CallTool(ctx, tool, args, opts...)
	if err != nil {
		return value, err
	}
	if err = decodeResult(result, &value); err != nil {
		return value, &CallError{Server: c.o.Name, Method: mcp.MethodCallTool, Tool: tool, Err: err}
	}
	return value, nil
}

// A ToolError is the error of [CallAs] for a tool that has failed: its result has IsError set.
type ToolError struct {
	// Code is the code of an operation's error, such as "not_found"; "" for other tools.
	Code    string
	Message string              // the operation's message, or the text of the result
	Result  *mcp.CallToolResult // the whole result
}

func (e *ToolError) Error() string {
	switch {
	case e.Message == "":
		return "the tool failed without a message"
	case e.Code == "":
		return e.Message
	}
	return e.Code + ": " + e.Message
}

// resultCodec decodes results in the form in which package dispatch encodes them.
var resultCodec = jsonexact.NewPortable()

func decodeResult(result *mcp.CallToolResult, into any) error {
	data, failure := envelopeOf(result.StructuredContent)
	text := textOf(result.Content)
	if result.StructuredContent == nil {
		// revisions before 2025-06-18 have only the text
		data, failure = envelopeOf([]byte(text))
	}
	switch {
	case result.IsError && failure != nil:
		code, _ := jsonscan.Text(jsonscan.Member(failure, "code"))
		message, _ := jsonscan.Text(jsonscan.Member(failure, "message"))
		return &ToolError{Code: code, Message: message, Result: result}
	case result.IsError:
		return &ToolError{Message: text, Result: result}
	case data == nil && result.StructuredContent != nil:
		data = result.StructuredContent
	case data == nil:
		if s, ok := into.(*string); ok {
			*s = text
			return nil
		}
		if text == "" {
			return errors.New("the result has neither structured content nor text")
		}
		data = []byte(text)
	}
	if err := resultCodec.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the result cannot be decoded: %w", err)
	}
	return nil
}

// envelopeOf returns the data and the error of an envelope, nil if text is not one.
func envelopeOf(text []byte) (data, failure []byte) {
	if jsonscan.Valid(text) != nil || jsonscan.Member(text, "success") == nil {
		return nil, nil
	}
	data, failure = jsonscan.Member(text, "data"), jsonscan.Member(text, "error")
	if data == nil || failure == nil {
		return nil, nil
	}
	return data, failure
}

// textOf returns the text of a result's blocks, joined by line breaks.
func textOf(content []mcp.Content) string {
	var texts []string
	for _, block := range content {
		if b, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
