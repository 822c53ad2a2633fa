package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CallTool calls a tool (2026-07-28, Tools, "Calling Tools") and returns its result. If the tool
// fails, the error is nil: the result has IsError set and describes the failure in its content.
//
// Args must encode as a JSON object: a struct, a map, a [json.RawMessage]; nil is an empty object.
// They are not validated with the tool's schema. It blocks and fails as [Client.Call] does.
func (c *Client) CallTool(ctx context.Context, name string, args any,
	opts ...CallOption) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	r := &call{method: mcp.MethodCallTool, tool: name, params: args, decode: decodeInto(result)}
	if err := c.callTool(ctx, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}

// CallToolRaw is [Client.CallTool] with the result as the server wrote it.
func (c *Client) CallToolRaw(ctx context.Context, name string, args any,
	opts ...CallOption) (json.RawMessage, error) {
	r := &call{method: mcp.MethodCallTool, tool: name, params: args}
	r.decode = r.keep
	err := c.callTool(ctx, r, opts)
	return r.kept, err
}

// callTool makes a call of a tool: it checks the name, prepares the check of the result and decides
// whether to request a task.
func (c *Client) callTool(ctx context.Context, r *call, opts []CallOption) error {
	if r.tool == "" {
		return &CallError{Server: c.o.Name, Method: r.method,
			Err: errors.New("a tool's name must not be empty")}
	}
	if bad := c.headerTools.Tool(r.tool).Bad; bad != nil {
		return &CallError{Server: c.o.Name, Method: r.method, Tool: r.tool,
			Err: errtext.Protocol("its definition cannot be used over HTTP: %v", bad)}
	}
	if c.o.Output == OutputFail {
		if err := c.learnOutput(ctx, r.tool); err != nil {
			return err
		}
	}
	if decode := r.decode; c.o.Output != OutputUnchecked {
		r.decode = func(result []byte) error {
			if err := c.checkOutput(r.tool, result); err != nil {
				return err
			}
			return decode(result)
		}
	}
	r.requestTask = c.shouldRequestTask(r)
	return c.do(ctx, r, opts)
}

// Tools yields the tools of the server in its order, and fetches pages as needed (2026-07-28,
// Tools, "Listing Tools"). An error is the last element: one of [Client.Call], one that matches
// [rpc.ErrProtocol] for a page that is invalid, or one that wraps an [*InvalidItemsError], after
// all valid tools, if others are invalid. A list ends with a warning in the log if the server
// repeats a page and its cursor, and at 1,000 pages or 100,000 tools. The options apply to the call
// for each page.
//
// All lists omit definitions of more than 1 MiB, 20,000 objects or 200 levels, and log a warning.
// Over HTTP, they also omit tools with invalid header annotations (2026-07-28, Streamable HTTP,
// "Schema Extension").
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return itemsOf(ctx, c, mcp.KindTool, opts, func(r *mcp.ListToolsResult) []*mcp.Tool {
		return c.headerTools.Usable(r.Tools)
	})
}

// CallAs calls a tool and decodes one of these into a T:
//
//   - the data of an envelope {"success":true,"data":…,"error":null}, the result of an operation
//   - other structured content
//   - without structured content, the text of the result: unchanged if T is a string, else as JSON
//
// A key must be exactly the name of its field or of its json tag: "name" does not fill an untagged
// field Name.
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

// checkOutput validates the result of a tool as Options.Output says.
func (c *Client) checkOutput(tool string, result []byte) error {
	out, _ := c.outputSchemas.Tool(tool)
	if out == nil || string(jsonscan.Member(result, "isError")) == "true" {
		return nil
	}
	misfit, err := out.Check(result)
	if misfit != nil {
		err = &OutputError{bytes.Clone(result), misfit}
		if c.o.Output == OutputFail {
			return err
		}
	}
	if err != nil && c.outputSchemas.FirstWarning(out) {
		c.warn("a tool's result", slog.String("tool", printable.Line(tool)),
			slog.String("problem", printable.Line(err.Error())))
	}
	return nil
}

// learnOutput lists the tools if a tool, whose schema OutputFail needs, was not listed.
func (c *Client) learnOutput(ctx context.Context, tool string) error {
	if _, known := c.outputSchemas.Tool(tool); known {
		return nil
	}
	for _, err := range c.pages(ctx, mcp.MethodListTools, nil, nil) {
		if err != nil {
			return err
		}
	}
	return nil
}

// shouldRequestTask reports whether to request a task for a tool: the caller wants one, or the tool
// requires it.
func (c *Client) shouldRequestTask(r *call) bool {
	if !c.session.Load().toolTasks() {
		return false
	}
	switch c.taskSupports.Of(r.tool) {
	case mcp.TaskForbidden:
		return false
	case mcp.TaskRequired:
		return true
	}
	return r.started != nil
}
