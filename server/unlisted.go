package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// An unlistedReader reads resources that are in no list; see [Integration.ReadUnlisted].
type unlistedReader func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)

func (s *Server) setUnlistedReader(read unlistedReader) {
	if read == nil {
		s.unlistedReader.Store(nil)
		return
	}
	s.unlistedReader.Store(&read)
}

// A missingAwaiter waits for a tool or prompt; see [Integration.AwaitMissing].
type missingAwaiter func(ctx context.Context, kind mcp.Kind, name string) error

func (s *Server) setMissingAwaiter(await missingAwaiter) {
	if await == nil {
		s.missingAwaiter.Store(nil)
		return
	}
	s.missingAwaiter.Store(&await)
}

// awaitMissing calls the function of [Integration.AwaitMissing], if it is set and the client may
// see an item with this name.
func (r *request) awaitMissing(kind mcp.Kind, name []byte) error {
	s := r.conn.server
	if await := s.missingAwaiter.Load(); await != nil && s.visible(r, kind, string(name)) {
		return (*await)(r, kind, string(name))
	}
	return nil
}
