package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CallTool calls a tool (2026-07-28, Tools, "Calling Tools") and returns its result. A tool that fails is not an error: its result has IsError set
// and says why in its content.
//
// Args must encode as a JSON object: a struct, a map, a [json.RawMessage]; nil is an empty one. They are not checked against the tool's schema. It
// blocks as [Client.Call] does, and its errors are the same.
func (c *Client) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	if err := c.callTool(ctx, name, args, opts, decodeInto(result)); err != nil {
		return nil, err
	}
	return result, nil
}

// CallToolRaw is [Client.CallTool] with the result as the server wrote it, every byte of it.
func (c *Client) CallToolRaw(ctx context.Context, name string, args any, opts ...CallOption) (json.RawMessage, error) {
	var raw json.RawMessage
	err := c.callTool(ctx, name, args, opts, raw.UnmarshalJSON)
	return raw, err
}

func (c *Client) callTool(ctx context.Context, name string, args any, opts []CallOption, decode func([]byte) error) error {
	return c.doTool(ctx, &call{method: mcp.MethodCallTool, tool: name, params: args, decode: decode}, opts)
}

// doTool makes a call of a tool.
func (c *Client) doTool(ctx context.Context, r *call, opts []CallOption) error {
	if r.tool == "" {
		return &CallError{Server: c.o.Name, Method: r.method, Err: errors.New("a tool's name must not be empty")}
	}
	if bad := c.headerTools.tool(r.tool).bad; bad != nil {
		return &CallError{Server: c.o.Name, Method: r.method, Tool: r.tool, Err: protocolError("its definition cannot be used over HTTP: %v", bad)}
	}
	if err := c.learnOutput(ctx, r.tool); err != nil {
		return err
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

// Tools yields the tools of the server, in the server's order, fetching page after page as they are wanted (2026-07-28, Tools, "Listing Tools"). An
// error ends the sequence and is its last element: one of [Client.Call], or one that matches [rpc.ErrProtocol] when the server's pages lead round in a
// circle, or to more than 1,000 pages or 100,000 tools. The options are those of each page's call.
//
// A definition of more than 1 MiB, more than 20,000 objects or more than 200 levels is left out of
// this and of every list, and the log is told. Over HTTP, a tool is left out too, if its definition
// breaks the rules for arguments in headers (2026-07-28, Streamable HTTP, "Schema Extension").
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return items(c, "tools", c.ToolPages(ctx, opts...), mcp.MethodListTools, func(r *mcp.ListToolsResult) []*mcp.Tool { return c.headerTools.usable(r.Tools) })
}

// ToolPages is [Client.Tools] with the results of tools/list as the server wrote them, every byte of them, and so with all tools.
func (c *Client) ToolPages(ctx context.Context, opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return c.pages(ctx, mcp.MethodListTools, opts)
}

// learns reports whether there is something to be known of the tools on a list.
func (c *Client) needsToolList() bool {
	return c.headerTools != nil || c.o.Output != OutputUnchecked || c.session.Load().toolTasks()
}

// learnTools looks at a result of tools/list for what has to be known of the tools.
func (c *Client) learnTools(result []byte) {
	var page mcp.ListToolsResult
	if mcp.Unmarshal(result, &page) != nil {
		return // which who asked will notice
	}
	if c.session.Load().toolTasks() {
		c.taskSupports.learn(page.Tools)
	}
	if c.o.Output != OutputUnchecked {
		c.outputSchemas.learn(page.Tools)
	}
	if c.headerTools == nil {
		return
	}
	for _, name := range c.headerTools.learn(page.Tools) {
		c.warn("a tool is left out", slog.String("tool", printable.Line(name)), slog.String("reason", printable.Line(c.headerTools.tool(name).bad.Error())))
	}
}
