package client

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Ping reports whether the server answers: it sends ping to a legacy server (2025-11-25, Ping), and
// server/discover to a modern one, which has no ping. It blocks as [Client.Call] does and returns
// its errors.
func (c *Client) Ping(ctx context.Context, opts ...CallOption) error {
	method := mcp.MethodPing
	if c.Era() == mcp.Modern {
		method = mcp.MethodDiscover
	}
	_, err := c.Call(ctx, method, nil, opts...)
	return err
}
