package server

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Roots asks the client for its roots, the directories that the server may work in (2026-07-28,
// client/roots). It follows the rules of [Elicit].
func Roots(ctx context.Context, key string) ([]mcp.Root, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	can, err := r.era.clientCapabilities()
	switch {
	case err != nil:
		return nil, err
	case can.Roots == nil:
		return nil, r.missingCapability("roots",
			mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}})
	}
	var result mcp.ListRootsResult
	err = r.ask(ctx, key, mcp.MethodListRoots, struct{}{}, func(answer []byte) error {
		if err := decodeInto(&result)(answer); err != nil || result.Roots != nil {
			return err
		}
		return errors.New("roots is missing")
	})
	if err != nil {
		return nil, err
	}
	return result.Roots, nil
}

// Roots asks a legacy client for its roots outside of a request, and blocks until the client
// responds or ctx ends (2025-11-25, client/roots). It returns nil if the client does not declare
// roots. A modern client can be asked only during a request: see the function [Roots].
func (c *Conn) Roots(ctx context.Context) ([]mcp.Root, error) {
	link := c.unsolicitedLink()
	if link == nil || c.Capabilities().Roots == nil {
		return nil, nil
	}
	var result mcp.ListRootsResult
	err := link.Call(&connContext{ctx, c, nil}, mcp.MethodListRoots, nil, &result)
	return result.Roots, err
}
