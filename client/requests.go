package client

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serve answers the requests of a legacy server. A modern one must not send any; it gets an answer all the same, so that it does not wait for ever.
func (c *Client) serve(_ context.Context, req *rpc.Request) (any, error) {
	switch {
	case req.Method == mcp.MethodPing:
		return struct{}{}, nil
	case req.Method == mcp.MethodListRoots && c.o.Roots != nil:
		raw, err := mcp.Marshal(mcp.ListRootsResult{Roots: c.o.Roots})
		return json.RawMessage(raw), err
	}
	return nil, rpc.Errorf(rpc.CodeMethodNotFound, "Method not found: this client does not serve %.100s", req.Method)
}
