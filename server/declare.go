package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// AddResource adds a resource with a function that reads it. Like [AddTool], it panics if the
// declaration is invalid. [Server.AddResource] returns an error instead, replaces resources, and
// has more settings. read follows the rules of [Resource].Read.
func AddResource(s *Server, r mcp.Resource,
	read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)) {
	declare(s.AddResource(Resource{Resource: r, Read: read}))
}

// AddResourceTemplate is [AddResource] for a set of resources. read follows the rules of
// [ResourceTemplate].Read; complete, which may be nil, suggests values for the template's
// variables.
func AddResourceTemplate(s *Server, t mcp.ResourceTemplate,
	read func(ctx context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult,
		error), complete Completer) {
	declare(s.AddResourceTemplate(
		ResourceTemplate{ResourceTemplate: t, Read: read, Complete: complete}))
}

// AddPrompt is [AddResource] for a prompt. get follows the rules of [Prompt].Get; complete, which
// may be nil, suggests values for the prompt's arguments.
func AddPrompt(s *Server, p mcp.Prompt,
	get func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error),
	complete Completer) {
	declare(s.AddPrompt(Prompt{Prompt: p, Get: get, Complete: complete}))
}

func declare(err error) {
	if err != nil {
		panic(err)
	}
}
