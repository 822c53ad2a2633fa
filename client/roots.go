package client

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// answerListRoots handles roots/list (2026-07-28, Roots).
func (c *Client) answerListRoots(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	if c.o.OnRoots == nil {
		return encode(mcp.ListRootsResult{Roots: c.o.Roots})
	}
	result, err := runInputCallback(ctx, c, "OnRoots", mcp.MethodListRoots,
		func(ctx context.Context, _ struct{}) (*mcp.ListRootsResult, error) {
			roots, err := c.o.OnRoots(ctx)
			if roots == nil {
				roots = []mcp.Root{}
			}
			return &mcp.ListRootsResult{Roots: roots}, err
		}, struct{}{})
	if err != nil {
		return nil, err
	}
	return encode(*result)
}

// RootsChanged notifies a legacy server that the result of Options.OnRoots has changed (2025-11-25,
// Roots, "Root List Changes"). It does nothing for a modern server, which asks when it needs the
// roots, or if OnRoots is not set. It blocks while the server does not read, until ctx ends.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.o.OnRoots == nil || c.session.Load().features.Era == mcp.Modern {
		return nil
	}
	if err := c.notify(ctx, mcp.NotificationRootsListChanged, nil); err != nil {
		return c.connectionError(err)
	}
	return nil
}
