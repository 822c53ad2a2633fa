// Package itemkey has the keys of overrides in a configuration, each of which stands for an item of
// a server.
package itemkey

import (
	"iter"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	promptPrefix   = string(mcp.KindPrompt) + ":"
	resourcePrefix = string(mcp.KindResource) + ":"
)

// Of returns the key of an item with this own name, URI or URI template, or "", which is no key,
// for an item of a kind that has none.
func Of(kind mcp.Kind, own string) string {
	switch kind {
	case mcp.KindTool:
		return own
	case mcp.KindPrompt:
		return promptPrefix + own
	case mcp.KindResource, mcp.KindResourceTemplate:
		return resourcePrefix + own
	}
	return ""
}

// Item returns what a key stands for.
func Item(key string) (kind mcp.Kind, own string) {
	if own, ok := strings.CutPrefix(key, promptPrefix); ok {
		return mcp.KindPrompt, own
	}
	own, ok := strings.CutPrefix(key, resourcePrefix)
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
func Unknown(keys iter.Seq[string], kind mcp.Kind, own []string) (unknown []string) {
	for key := range keys {
		if k, name := Item(key); k == kind && !slices.Contains(own, name) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}
