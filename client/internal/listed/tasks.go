package listed

import (
	"cmp"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxSupports = 10_000 // tools whose task support is stored

// TaskSupports stores which of the listed tools support tasks. Only servers of 2025-11-25 declare
// that (Tasks, "Tool-Level Negotiation").
type TaskSupports struct {
	mu  sync.Mutex
	all map[string]mcp.TaskSupport
}

// Learn stores what a page of tools says.
func (s *TaskSupports) Learn(tools []*mcp.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]mcp.TaskSupport)
	}
	for _, tool := range tools {
		if _, known := s.all[tool.Name]; len(tool.Name) > maxName || !known &&
			len(s.all) == maxSupports {
			continue
		}
		support := mcp.TaskForbidden
		if tool.Execution != nil {
			support = cmp.Or(tool.Execution.TaskSupport, support)
		}
		s.all[tool.Name] = support
	}
}

// Of returns whether a tool supports tasks; "" if it is not stored.
func (s *TaskSupports) Of(tool string) mcp.TaskSupport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[tool]
}
