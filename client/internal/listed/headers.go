// Package listed stores what later calls need to know of the tools that a server has listed: which
// arguments are sent as headers, the schema of the output, and whether a task is possible. The
// methods of its types are safe for concurrent use.
package listed

import (
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxName is the size in bytes of the longest name of a tool that is stored.
const maxName = 1024

const (
	maxHeaderTools = 10_000 // tools in a Headers
	maxHeaderArgs  = 256    // its header arguments; all headers of a request have 64 KiB at most
)

// Headers stores which arguments of tools are sent as headers (2026-07-28, Streamable HTTP,
// "Custom Headers from Tool Parameters").
type Headers struct {
	mu    sync.Mutex
	tools map[string]ToolHeaders // without tools that have no such argument
}

// ToolHeaders are the header arguments of one tool.
type ToolHeaders struct {
	Params []paramheader.Param
	Bad    error // an invalid annotation; the tool must not be called
}

// Tool returns the header arguments of a tool; none if it is not stored.
func (m *Headers) Tool(name string) ToolHeaders {
	if m == nil {
		return ToolHeaders{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools[name]
}

// Learn stores the tools of a page, and returns the names of those found invalid for the first
// time.
func (m *Headers) Learn(tools []*mcp.Tool) (bad []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range tools {
		params, err := paramheader.Of(t.InputSchema)
		known, ok := m.tools[t.Name]
		switch {
		case params == nil && err == nil:
			delete(m.tools, t.Name)
			continue
		case !ok && len(m.tools) >= maxHeaderTools, len(t.Name) > maxName,
			len(params) > maxHeaderArgs:
			continue
		case m.tools == nil:
			m.tools = make(map[string]ToolHeaders)
		}
		if err != nil && known.Bad == nil {
			bad = append(bad, t.Name)
		}
		m.tools[t.Name] = ToolHeaders{params, err}
	}
	return bad
}

// Usable returns the tools that can be called.
func (m *Headers) Usable(tools []*mcp.Tool) []*mcp.Tool {
	return slices.DeleteFunc(tools, func(t *mcp.Tool) bool { return m.Tool(t.Name).Bad != nil })
}
