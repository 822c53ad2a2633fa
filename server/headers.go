package server

import (
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// toolHeaders are the parameters that go into headers, of those tools of one list that were asked about.
type toolHeaders struct {
	list   *tools
	byName sync.Map // of []mcp.HeaderParam
}

// headerParams is [Integration.HeaderParams].
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
		return nil // not kept: anybody can make names up
	}
	params, err := mcp.HeaderParams(jsonscan.Member(item.definition, "inputSchema"))
	if err != nil {
		s.log.Error("clients that speak HTTP will not call this tool", "tool", tool, "error", err)
	}
	headers.byName.Store(tool, params)
	return params
}
