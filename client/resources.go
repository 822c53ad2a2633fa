package client

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Resources yields the resources of the server (2026-07-28, Resources, "Listing Resources"), as [Client.Tools] does the tools: with the same bounds and
// errors, and an [*UndeclaredError] from a server that has none.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return items(c, "resources", c.ResourcePages(ctx, opts...), mcp.MethodListResources,
		func(r *mcp.ListResourcesResult) []*mcp.Resource { return r.Resources })
}

// ResourcePages is [Client.Resources] with the results of resources/list as the server wrote them, every byte of them.
func (c *Client) ResourcePages(ctx context.Context, opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return c.pagesOf(ctx, resourcesCapability, mcp.MethodListResources, opts)
}

// ResourceTemplates yields the resource templates of the server (2026-07-28, Resources, "Resource Templates"), as [Client.Resources] does the resources.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return items(c, "resource templates", c.ResourceTemplatePages(ctx, opts...), mcp.MethodListResourceTemplates,
		func(r *mcp.ListResourceTemplatesResult) []*mcp.ResourceTemplate { return r.ResourceTemplates })
}

// ResourceTemplatePages is [Client.ResourceTemplates] with the results of resources/templates/list as the server wrote them, every byte of them.
func (c *Client) ResourceTemplatePages(ctx context.Context, opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return c.pagesOf(ctx, resourcesCapability, mcp.MethodListResourceTemplates, opts)
}

// ReadResource reads a resource (2026-07-28, Resources, "Reading Resources"), whether it is on a list, of a template, or linked to by a result. It blocks as
// [Client.Call] does, and its errors are the same, or an [*UndeclaredError]. A resource that there is not is an [*rpc.Error] with
// [mcp.CodeResourceNotFound] from a legacy server, and with [rpc.CodeInvalidParams] from a modern one.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	result := new(mcp.ReadResourceResult)
	r := &call{method: mcp.MethodReadResource, name: uri, params: &mcp.ReadResourceParams{URI: uri}, decode: decodeInto(result)}
	if err := c.request(ctx, resourcesCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}
