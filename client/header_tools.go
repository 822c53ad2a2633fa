package client

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxHeaderTools = 10_000 // tools in a headerTools
	maxHeaderArgs  = 256    // its header arguments; all headers of a request have 64 KiB at most
)

// headerTools stores which arguments of tools are sent as headers (2026-07-28, Streamable HTTP,
// "Custom Headers from Tool Parameters").
type headerTools struct {
	mu    sync.Mutex
	tools map[string]toolHeaders // without tools that have no such argument
}

// toolHeaders are the header arguments of one tool.
type toolHeaders struct {
	params []mcp.HeaderParam
	bad    error // an invalid annotation; the tool must not be called
}

func (m *headerTools) params(tool string) []mcp.HeaderParam { return m.tool(tool).params }

// tool returns the header arguments of a tool; none if it is not stored.
func (m *headerTools) tool(name string) toolHeaders {
	if m == nil {
		return toolHeaders{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools[name]
}

// learn stores the tools of a page, and returns the names of those found invalid for the first
// time.
func (m *headerTools) learn(tools []*mcp.Tool) (bad []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range tools {
		params, err := mcp.HeaderParams(t.InputSchema)
		known, ok := m.tools[t.Name]
		switch {
		case params == nil && err == nil:
			delete(m.tools, t.Name)
			continue
		case !ok && len(m.tools) >= maxHeaderTools, len(t.Name) > maxSupportName,
			len(params) > maxHeaderArgs:
			continue
		case m.tools == nil:
			m.tools = make(map[string]toolHeaders)
		}
		if err != nil && known.bad == nil {
			bad = append(bad, t.Name)
		}
		m.tools[t.Name] = toolHeaders{params, err}
	}
	return bad
}

// refreshHeaderTools lists the tools after the server rejected the headers of a call. If the tool
// is unchanged, it returns refusal.
func (c *Client) refreshHeaderTools(ctx context.Context, tool string, refusal error) error {
	before := c.headerTools.tool(tool)
	for _, err := range c.Integration().Pages(ctx, mcp.KindTool, Fresh()) {
		if err != nil {
			return refusal
		}
	}
	if now := c.headerTools.tool(tool); now.bad != nil ||
		reflect.DeepEqual(now.params, before.params) {
		return refusal
	}
	return nil
}

// usable returns the tools that can be called.
func (m *headerTools) usable(tools []*mcp.Tool) []*mcp.Tool {
	return slices.DeleteFunc(tools, func(t *mcp.Tool) bool { return m.tool(t.Name).bad != nil })
}
