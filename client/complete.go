package client

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Complete asks what an argument of a prompt, or a variable of a resource template, may become of which the user has typed value so far (2026-07-28,
// Completion). Settled are the other arguments that have a value already; nil is none, and servers older than 2025-06-18 are not told. It blocks as
// [Client.Call] does, and its errors are the same, or an [*UndeclaredError].
func (c *Client) Complete(ctx context.Context, ref mcp.CompleteReference, argument, value string, settled map[string]string, opts ...CallOption) (*mcp.Completion, error) {
	params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: argument, Value: value}}
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
