package client

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// definitions is a page of any list.
type definitions struct {
	Tools     []json.RawMessage `json:"tools"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
	Prompts   []json.RawMessage `json:"prompts"`
}

// ToolDefinitions is [Client.Tools] with each tool as the server wrote it, for callers that forward
// it.
func (c *Client) ToolDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(c, "tools", c.ToolPages(ctx, opts...), mcp.MethodListTools,
		func(d *definitions) []json.RawMessage {
			return slices.DeleteFunc(d.Tools, func(tool json.RawMessage) bool {
				name, _ := jsonscan.Text(jsonscan.Member(tool, "name"))
				return c.headerTools.tool(name).bad != nil
			})
		})
}

// ResourceDefinitions is [Client.Resources] with each resource as the server wrote it.
func (c *Client) ResourceDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(c, "resources", c.ResourcePages(ctx, opts...), mcp.MethodListResources,
		func(d *definitions) []json.RawMessage { return d.Resources })
}

// ResourceTemplateDefinitions is [Client.ResourceTemplates] with each template as the server wrote
// it.
func (c *Client) ResourceTemplateDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(c, "resource templates", c.ResourceTemplatePages(ctx, opts...),
		mcp.MethodListResourceTemplates,
		func(d *definitions) []json.RawMessage { return d.Templates })
}

// PromptDefinitions is [Client.Prompts] with each prompt as the server wrote it.
func (c *Client) PromptDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(c, "prompts", c.PromptPages(ctx, opts...), mcp.MethodListPrompts,
		func(d *definitions) []json.RawMessage { return d.Prompts })
}
