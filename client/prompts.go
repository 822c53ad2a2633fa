package client

import (
	"context"
	"iter"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Prompts yields the prompts of the server (2026-07-28, Prompts, "Listing Prompts"), with the
// limits and errors of [Client.Tools], and an [*UndeclaredError] if the server does not declare
// prompts.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Prompt, error] {
	return itemsOf(ctx, c, mcp.KindPrompt, opts,
		func(r *mcp.ListPromptsResult) []*mcp.Prompt { return r.Prompts })
}

// GetPrompt returns the messages of a prompt (2026-07-28, Prompts, "Getting a Prompt"). Arguments
// are strings; nil means none. It blocks as [Client.Call] does; the error is one of Call or an
// [*UndeclaredError].
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string,
	opts ...CallOption) (*mcp.GetPromptResult, error) {
	result := new(mcp.GetPromptResult)
	r := &call{method: mcp.MethodGetPrompt, name: name,
		params: &mcp.GetPromptParams{Name: name, Arguments: arguments}, decode: decodeInto(result)}
	if err := c.request(ctx, promptsCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}
