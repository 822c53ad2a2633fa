package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// unlisted reads what is in no list.
type unlisted struct {
	read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)
}

// ReadUnlisted has read asked for what clients read that is neither a resource nor of a template of this server: links in results need not be in any list (2026-07-28, server/tools, Resource
// Links). It is as [Resource].Read, and returns [ResourceNotFound] for what it does not know. The latest one counts; nil asks nobody.
func (s *Server) ReadUnlisted(read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)) {
	if read == nil {
		s.unlisted.Store(nil)
		return
	}
	s.unlisted.Store(&unlisted{read})
}
