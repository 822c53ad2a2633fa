package server

import (
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// toolHeaders caches the header parameters of the tools of one list.
type toolHeaders struct {
	list   *tools
	byName sync.Map // maps names to []mcp.HeaderParam
}

// headerParams implements [Integration.HeaderParams].
func (s *Server) headerParams(tool string) []mcp.HeaderParam {
	list := s.toolList()
	headers := s.headers.Load()
	if headers == nil || headers.list != list {
		headers = &toolHeaders{list: list}
		s.headers.Store(headers)
	}
	if known, ok := headers.byName.Load(tool); ok {
		return known.([]mcp.HeaderParam)
	}
	item := list.byKey[tool]
	if item == nil {
		return nil // not cached, because clients can invent names
	}
	params, err := mcp.HeaderParams(jsonscan.Member(item.definition, "inputSchema"))
	if err != nil {
		s.log.Error("clients over HTTP will not call this tool", "tool", tool, "error", err)
	}
	headers.byName.Store(tool, params)
	return params
}
