package target

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toolhint"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Lists returns what a server can list. The lists apply the filter of tools and the time limit of
// lists.
func (t *Target) Lists() []output.List {
	all := output.Lists()
	pages := all[0].Pages
	all[0].Pages = func(ctx context.Context, c *client.Client,
		options ...client.CallOption) iter.Seq2[json.RawMessage, error] {
		return func(yield func(json.RawMessage, error) bool) {
			for page, err := range pages(ctx, c, options...) {
				if !yield(filterPage(page, t.Configured.allows), err) {
					return
				}
			}
		}
	}
	all[0].Note = t.Configured.overridden
	all[0].Items = output.ItemsOf(t.Configured.Tools, output.NotedToolItem(all[0].Note))
	if s := t.Configured.server; s != nil && (s.Filter.Allow != nil || s.Filter.Deny != nil) {
		all[0].Empty = "no tool of the server passes its filter, at " + s.Position.String() +
			"; stdwire doctor " + s.ID + " names patterns that match none"
	}
	for i, l := range all {
		all[i] = l.WithTimeout(t.ListTimeout)
	}
	return all
}

// Tools lists the tools that the configuration allows.
func (s *ConfiguredServer) Tools(c *client.Client, ctx context.Context,
	options ...client.CallOption) iter.Seq2[*mcp.Tool, error] {
	return func(yield func(*mcp.Tool, error) bool) {
		for tool, err := range c.Tools(ctx, options...) {
			if (err != nil || s.allows(tool.Name)) && !yield(tool, err) {
				return
			}
		}
	}
}

// overridden returns what the configuration makes of a tool in a gateway, for people, or "".
func (s *ConfiguredServer) overridden(tool *mcp.Tool) string {
	if s.server == nil {
		return ""
	}
	o, found := s.server.ItemOverrides[tool.Name]
	if !found {
		return ""
	}
	var parts []string
	switch {
	case o.Hidden:
		parts = append(parts, "hidden")
	case o.Name != "":
		parts = append(parts, "as "+o.Name)
	}
	return strings.TrimSuffix("overridden: "+strings.Join(append(parts,
		toolhint.Weakened(o.Annotations, tool.Annotations)...), ", "), ": ")
}

// Allowed returns the tools that the configuration allows.
func (s *ConfiguredServer) Allowed(tools []*mcp.Tool) []*mcp.Tool {
	return slices.DeleteFunc(slices.Clone(tools),
		func(tool *mcp.Tool) bool { return !s.allows(tool.Name) })
}

// allows reports whether the configuration allows a tool.
func (s *ConfiguredServer) allows(tool string) bool {
	return s.server == nil || s.server.Filter.Allows(tool)
}

// CheckAllowed returns a failure for a tool that the configuration does not allow.
func (s *ConfiguredServer) CheckAllowed(tool string) error {
	if s.allows(tool) {
		return nil
	}
	return &command.Failure{Code: "denied", Server: s.ID, Tool: tool, What: tool,
		Why: "the filter at " + s.server.Position.String() + " does not let it pass"}
}

// filterPage removes tools from a page of tools/list. The rest of the page stays byte for byte.
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
		if jsonscan.KeyIs(name, "tools") {
			value = append(append([]byte{'['}, bytes.Join(kept, []byte{','})...), ']')
		}
		filtered = jsonscan.AppendMember(filtered, name, value)
	}
	return append(filtered, '}')
}

// An OfferedTool is a tool of a configured server as a gateway offers it, without the ID of the
// server before its name.
type OfferedTool struct {
	*mcp.Tool
	Own        string // the name that the server has for it
	Definition json.RawMessage
}

// OfferedTools returns what a gateway offers of the tools that the server has listed: those that
// its filter lets through, as its overrides have them. Invalid ones are left out.
func (s *ConfiguredServer) OfferedTools(definitions []json.RawMessage) []OfferedTool {
	return offeredTools(s.server, definitions)
}

// offeredTools is [ConfiguredServer.OfferedTools]; nil is a server without filter and overrides.
func offeredTools(s *config.Server, definitions []json.RawMessage) []OfferedTool {
	all := make([]OfferedTool, 0, len(definitions))
	var changed map[string]json.RawMessage
	var refused map[string]error
	if s != nil && len(s.ItemOverrides) > 0 {
		changed, refused = gateway.Overridden(mcp.KindTool, definitions, s.ItemOverrides)
	}
	for _, definition := range definitions {
		own := mcp.KindTool.KeyOf(definition)
		if now, found := changed[own]; found {
			definition = now
		}
		tool := new(mcp.Tool)
		if definition == nil || refused[own] != nil || s != nil && !s.Filter.Allows(own) ||
			mcp.Unmarshal(definition, tool) != nil {
			continue // stdwire doctor says what is wrong with it
		}
		all = append(all, OfferedTool{tool, own, definition})
	}
	return all
}
