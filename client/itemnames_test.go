package client

import (
	"context"
	"iter"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// names returns the names of the elements of a sequence, followed by the error.
func names[T any](seq iter.Seq2[T, error], name func(T) string) string {
	var all []string
	for item, err := range seq {
		if err != nil {
			all = append(all, err.Error())
		} else {
			all = append(all, name(item))
		}
	}
	return strings.Join(all, " ")
}

func uriOf(r *mcp.Resource) string              { return r.URI }
func templateOf(r *mcp.ResourceTemplate) string { return r.URITemplate }
func promptOf(p *mcp.Prompt) string             { return p.Name }

func allResources(ctx context.Context, c *Client) string { return names(c.Resources(ctx), uriOf) }
func allTemplates(ctx context.Context, c *Client) string {
	return names(c.ResourceTemplates(ctx), templateOf)
}
func allPrompts(ctx context.Context, c *Client) string { return names(c.Prompts(ctx), promptOf) }
