package client

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// CallTool calls a tool (2026-07-28, Tools, "Calling Tools") and returns its result. A tool that fails is not an error: its result has IsError set
// and says why in its content.
//
// Args must encode as a JSON object: a struct, a map, a [json.RawMessage]; nil is an empty one. They are not checked against the tool's schema. It
// blocks as [Client.Call] does, and its errors are the same.
func (c *Client) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	err := c.callTool(ctx, name, args, opts, func(raw []byte) error {
		if err := mcp.Unmarshal(raw, result); err != nil {
			return protocolError("its result is not one: %v", err)
		}
		return nil
	})
	if err != nil {
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
	r := &call{method: mcp.MethodCallTool, tool: name, params: args, decode: decode}
	if name == "" {
		return &CallError{Server: c.o.Name, Method: r.method, Err: errors.New("a tool's name must not be empty")}
	}
	return c.do(ctx, r, opts)
}

// Tools yields the tools of the server, in the server's order, fetching page after page as they are wanted (2026-07-28, Tools, "Listing Tools"). An
// error ends the sequence and is its last element: one of [Client.Call], or one that matches [rpc.ErrProtocol] when the server's pages lead round in a
// circle, or to more than 1,000 pages or 100,000 tools. The options are those of each page's call.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		items := 0
		for page, err := range c.ToolPages(ctx, opts...) {
			var r mcp.ListToolsResult
			if err == nil {
				if bad := mcp.Unmarshal(page, &r); bad != nil {
					err = c.listError(mcp.MethodListTools, "its result is not one: %v", bad)
				} else if items += len(r.Tools); items > maxItems {
					err = c.listError(mcp.MethodListTools, "more than %d tools", maxItems)
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, tool := range r.Tools {
				if !yield(tool, nil) {
					return
				}
			}
		}
	}
}

// ToolPages is [Client.Tools] with the results of tools/list as the server wrote them, every byte of them.
func (c *Client) ToolPages(ctx context.Context, opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return c.pages(ctx, mcp.MethodListTools, opts)
}

const (
	maxPages = 1000
	maxItems = 100_000
)

// pages yields the results of a method that lists something in pages (2026-07-28, Pagination).
func (c *Client) pages(ctx context.Context, method string, opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		seen := make(map[[sha256.Size]byte]bool) // cursors, which may be long
		var params json.RawMessage
		for range maxPages {
			page, err := c.Call(ctx, method, params, opts...)
			if !yield(page, err) || err != nil {
				return
			}
			cursor := jsonscan.Member(page, "nextCursor")
			if cursor == nil || string(cursor) == "null" { // "" is a cursor
				return
			}
			if _, ok := jsonscan.Unquote(cursor); !ok {
				yield(nil, c.listError(method, "the cursor is not a string: %.40s", cursor))
				return
			}
			sum := sha256.Sum256(cursor)
			if seen[sum] {
				yield(nil, c.listError(method, "the server's pages lead round in a circle: the cursor %.40s came twice", cursor))
				return
			}
			seen[sum] = true
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		yield(nil, c.listError(method, "more than %d pages", maxPages))
	}
}

func (c *Client) listError(method, format string, args ...any) error {
	return &CallError{Server: c.o.Name, Method: method, Err: protocolError(format, args...)}
}
