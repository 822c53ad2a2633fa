package override

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Of returns the override of an item with this own name, URI or URI template.
func Of(o host.Overrides, kind mcp.Kind, own string) (found host.Override, ok bool) {
	switch kind {
	case mcp.KindTool:
	case mcp.KindPrompt:
		own = promptKey + own
	case mcp.KindResource, mcp.KindResourceTemplate:
		own = resourceKey + own
	default:
		return found, false
	}
	found, ok = o[own]
	return found, ok
}

const (
	promptKey   = string(mcp.KindPrompt) + ":"
	resourceKey = string(mcp.KindResource) + ":"
)

// Key returns what a key of [host.Overrides] stands for.
func Key(key string) (kind mcp.Kind, own string) {
	if own, ok := strings.CutPrefix(key, promptKey); ok {
		return mcp.KindPrompt, own
	}
	own, ok := strings.CutPrefix(key, resourceKey)
	switch {
	case !ok:
		return mcp.KindTool, key
	case strings.Contains(own, "{"):
		return mcp.KindResourceTemplate, own
	}
	return mcp.KindResource, own
}

// Unknown returns, sorted, the keys of items of a kind that a server with these own names does not
// have.
func Unknown(o host.Overrides, kind mcp.Kind, own []string) (keys []string) {
	for key := range o {
		if k, name := Key(key); k == kind && !slices.Contains(own, name) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
