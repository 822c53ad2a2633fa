package scan

import (
	"strings"

	"github.com/stdwire/stdwire/internal/toolhint"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// weakenedAnnotations finds overrides that make tools look safer than their server says.
func weakenedAnnotations(s *Server) (found []Finding) {
	for _, raw := range s.Lists[mcp.KindTool] {
		var tool mcp.Tool
		if len(s.Config.Overrides) == 0 || mcp.Unmarshal(raw, &tool) != nil {
			continue // the rule for malformed definitions reports it
		}
		hints := toolhint.Weakened(s.Config.Overrides[tool.Name].Annotations, tool.Annotations)
		if hints != nil && len(found) < maxPerServer {
			found = append(found, Finding{Severity: Medium,
				Place: Place{Server: s.ID, Kind: mcp.KindTool.Info().Short, Name: tool.Name,
					Where: "annotations"},
				What:     "the overrides of the configuration make the tool look safer than its server says",
				Evidence: strings.Join(hints, ", ")})
		}
	}
	return found
}
