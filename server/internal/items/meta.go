package items

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// WithApp returns a tool's definition with its app, in both forms of its _meta.
func WithApp(definition []byte, ui mcp.ToolUI) ([]byte, error) {
	meta := mcp.Meta{}
	if raw := jsonscan.Member(definition, "_meta"); raw != nil {
		if err := mcp.Unmarshal(raw, &meta); err != nil {
			return nil, err
		}
	}
	_ = meta.Set(mcp.MetaUI, ui) // strings
	_ = meta.Set(mcp.MetaUIResourceURI, ui.ResourceURI)
	text, err := mcp.Marshal(meta)
	if err != nil {
		return nil, err
	}
	return jsonscan.SetMember(definition, "_meta", text), nil
}

// withoutMeta returns a definition without keys of its _meta, and without an empty _meta.
func withoutMeta(definition []byte, keys []string) []byte {
	meta := jsonscan.Member(definition, "_meta")
	switch left := jsonscan.Without(meta, keys...); {
	case len(left) == len(meta):
		return definition
	case string(left) == "{}":
		return jsonscan.Without(definition, "_meta")
	default:
		return jsonscan.SetMember(definition, "_meta", left)
	}
}
