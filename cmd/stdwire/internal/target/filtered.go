package target

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Kinds are the kinds of things that a server has, with those tools only that the configuration
// lets pass, and the time that each list may take.
func (t *Target) Kinds() []output.Kind {
	all := output.Kinds()
	pages := all[0].Pages
	all[0].Pages = func(c *client.Client, ctx context.Context, options ...client.CallOption) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			for page, err := range pages(c, ctx, options...) {
				if !yield(filterPage(page, t.Selected.allows), err) {
					return
				}
			}
		}
	}
	all[0].Items = output.ItemsOf(t.Selected.Tools, output.ToolItem)
	for i, k := range all {
		all[i] = k.Within(t.ListTimeout)
	}
	return all
}

// Tools are those of a server that pass.
func (s *Selected) Tools(c *client.Client, ctx context.Context, options ...client.CallOption) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		for tool, err := range c.Tools(ctx, options...) {
			if (err != nil || s.allows(tool.Name)) && !yield(tool, err) {
				return
			}
		}
	}
}

// Permitted are those of a list that pass.
func (s *Selected) Permitted(tools []*mcp.Tool) []*mcp.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *mcp.Tool) bool { return !s.allows(tool.Name) })
}

// allows reports whether a tool passes the filter of the configuration, if there is one.
func (s *Selected) allows(tool string) bool { return s.server == nil || s.server.Filter.Allows(tool) }

// Permit refuses tools that do not pass.
func (s *Selected) Permit(tool string) error {
	if s.allows(tool) {
		return nil
	}
	return &command.Failure{Code: "denied", Server: s.ID, Tool: tool, What: tool, Why: "the filter at " + s.server.Position.String() + " does not let it pass"}
}

// filterPage takes tools out of a page of their list. The others, and the rest of it, stay as the server wrote them.
func filterPage(page json.RawMessage, allows func(tool string) bool) json.RawMessage {
	list := jsonscan.Member(page, "tools")
	if len(list) == 0 || list[0] != '[' {
		return page
	}
	var kept [][]byte
	all := true
	for tool := range jsonscan.Elements(list) {
		if name, _ := jsonscan.Unquote(jsonscan.Member(tool, "name")); allows(string(name)) {
			kept = append(kept, tool)
		} else {
			all = false
		}
	}
	if all {
		return page
	}
	filtered := []byte{'{'}
	for name, value := range jsonscan.Members(page) {
		if len(filtered) > 1 {
			filtered = append(filtered, ',')
		}
		filtered = append(append(filtered, name...), ':')
		if jsonscan.KeyIs(name, "tools") {
			value = append(append([]byte{'['}, bytes.Join(kept, []byte{','})...), ']')
		}
		filtered = append(filtered, value...)
	}
	return append(filtered, '}')
}
