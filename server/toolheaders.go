package server

import (
	"encoding/json"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
)

// toolHeaders caches the header parameters of the tools of one list.
type toolHeaders struct {
	list   *tools
	byName sync.Map // maps names to []paramheader.Param
}

// CheckToolHeaders compares the headers of an HTTP request that repeat arguments of a tool with
// the arguments (2026-07-28, basic/transports/streamable-http, Custom Headers from Tool
// Parameters). header returns the values of a header, whatever the case of its name. If there is a
// difference, the transport must refuse the request with [mcp.CodeHeaderMismatch] and the text of
// the error.
func (i Integration) CheckToolHeaders(tool string, arguments json.RawMessage,
	header func(name string) []string) error {
	for _, p := range i.s.headerParams(tool) {
		if err := p.Check(header(p.Header), arguments); err != nil {
			return err
		}
	}
	return nil
}

// headerParams returns the parameters of a tool that headers repeat. It returns nil if the tool has
// none or does not exist, or if its annotations are invalid. The slice is shared.
func (s *Server) headerParams(tool string) []paramheader.Param {
	list := s.toolList()
	headers := s.headers.Load()
	if headers == nil || headers.list != list {
		headers = &toolHeaders{list: list}
		s.headers.Store(headers)
	}
	if known, ok := headers.byName.Load(tool); ok {
		return known.([]paramheader.Param)
	}
	item := list.ByKey[tool]
	if item == nil {
		return nil // not cached, because clients can invent names
	}
	params, err := paramheader.Of(jsonscan.Member(item.Definition, "inputSchema"))
	if err != nil {
		s.log.Error("clients over HTTP will not call this tool", "tool", tool, "error", err)
	}
	headers.byName.Store(tool, params)
	return params
}
