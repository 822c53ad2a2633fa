package client

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxMirrored is of how many tools a mirror keeps what it knows.
const maxHeaderTools = 10_000

// A mirror knows which arguments of the server's tools go into headers (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").
type headerTools struct {
	mu    sync.Mutex
	tools map[string]toolHeaders // without those of which no argument does
}

// mirrored is what is known of one tool.
type toolHeaders struct {
	params []mcp.HeaderParam
	bad    error // an annotation that breaks the rules: the tool must not be used
}

func (m *headerTools) params(tool string) []mcp.HeaderParam { return m.tool(tool).params }

// tool returns what is known of a tool.
func (m *headerTools) tool(name string) toolHeaders {
	if m == nil {
		return toolHeaders{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools[name]
}

// learn takes a page of the list of tools, and returns those on it that cannot be used for the first time that this is seen.
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
		case !ok && len(m.tools) >= maxHeaderTools:
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

// relearn has a look at the list of tools, because the server misses headers with a call of one of them. If nothing has changed, the server's refusal stands.
func (c *Client) refreshHeaderTools(ctx context.Context, tool string, refusal error) error {
	before := c.headerTools.tool(tool)
	for _, err := range c.ToolPages(ctx, Fresh()) {
		if err != nil {
			return refusal
		}
	}
	if now := c.headerTools.tool(tool); now.bad != nil || reflect.DeepEqual(now.params, before.params) {
		return refusal
	}
	return nil
}

// usable returns those of the tools that can be called.
func (m *headerTools) usable(tools []*mcp.Tool) []*mcp.Tool {
	return slices.DeleteFunc(tools, func(t *mcp.Tool) bool { return m.tool(t.Name).bad != nil })
}
