package client

import (
	"context"
	"iter"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Resources yields the resources of the server (2026-07-28, Resources, "Listing Resources"), with
// the limits and errors of [Client.Tools], and an [*UndeclaredError] if the server does not declare
// resources.
func (c *Client) Resources(ctx context.Context,
	opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return itemsOf(ctx, c, mcp.KindResource, opts,
		func(r *mcp.ListResourcesResult) []*mcp.Resource { return r.Resources })
}

// ResourceTemplates yields the resource templates of the server (2026-07-28, Resources, "Resource
// Templates"), as [Client.Resources] does for resources.
func (c *Client) ResourceTemplates(ctx context.Context,
	opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return itemsOf(ctx, c, mcp.KindResourceTemplate, opts,
		func(r *mcp.ListResourceTemplatesResult) []*mcp.ResourceTemplate {
			return r.ResourceTemplates
		})
}

// ReadResource reads a resource (2026-07-28, Resources, "Reading Resources"), whether it is listed,
// matches a template or is linked in a result. It blocks as [Client.Call] does; the error is one of
// Call or an [*UndeclaredError]. For an unknown resource it is an [*rpc.Error] with
// [mcp.CodeResourceNotFound] from a legacy server, and with [rpc.CodeInvalidParams] from a modern
// one.
func (c *Client) ReadResource(ctx context.Context, uri string,
	opts ...CallOption) (*mcp.ReadResourceResult, error) {
	result := new(mcp.ReadResourceResult)
	r := &call{method: mcp.MethodReadResource, name: uri, params: &mcp.ReadResourceParams{URI: uri},
		decode: decodeInto(result)}
	if err := c.request(ctx, resourcesCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}
