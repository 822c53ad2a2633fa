package client

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Complete returns completions for the value typed so far of a prompt argument or a resource
// template variable (2026-07-28, Completion). Settled are the values of other arguments, or nil;
// they are not sent to servers older than 2025-06-18. It blocks as [Client.Call] does; the error is
// one of Call or an [*UndeclaredError].
func (c *Client) Complete(ctx context.Context, ref mcp.CompleteReference, argument, value string,
	settled map[string]string, opts ...CallOption) (*mcp.Completion, error) {
	params := &mcp.CompleteParams{Ref: ref,
		Argument: mcp.CompleteArgument{Name: argument, Value: value}}
	if settled != nil && c.session.Load().features.CompletionContext {
		params.Context = &mcp.CompleteContext{Arguments: settled}
	}
	result := new(mcp.CompleteResult)
	r := &call{method: mcp.MethodComplete, params: params, decode: decodeInto(result)}
	if err := c.request(ctx, completionsCapability, r, opts); err != nil {
		return nil, err
	}
	return &result.Completion, nil
}
