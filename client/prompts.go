package client

import (
	"context"
	"iter"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Prompts yields the prompts of the server (2026-07-28, Prompts, "Listing Prompts"), as [Client.Tools] does the tools: with the same bounds and errors,
// and an [*UndeclaredError] from a server that has none.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Prompt, error] {
	const method = mcp.MethodListPrompts
	return items(c, "prompts", c.pagesOf(ctx, promptsCapability, method, opts), method,
		func(r *mcp.ListPromptsResult) []*mcp.Prompt { return r.Prompts })
}

// GetPrompt returns the messages of a prompt (2026-07-28, Prompts, "Getting a Prompt"). Arguments are always text; nil is none. It blocks as [Client.Call]
// does, and its errors are the same, or an [*UndeclaredError].
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	result := new(mcp.GetPromptResult)
	r := &call{method: mcp.MethodGetPrompt, name: name, params: &mcp.GetPromptParams{Name: name, Arguments: arguments}, decode: into(result)}
	if err := c.request(ctx, promptsCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}
