package client

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Integration has the methods of a [Client] for programs that forward or record the text that
// the server wrote, such as package client/host/gateway; applications do not need them. They return
// lists without decoding them. Pages are the results of a list method, definitions the elements of
// the list. Limits, errors and options are those of [Client.Tools] and its siblings. All methods
// are safe for concurrent use.
type Integration struct{ c *Client }

// Integration returns the methods for gateways and other programs that forward lists.
func (c *Client) Integration() Integration { return Integration{c} }

// ToolPages yields the results of tools/list. They include the tools that [Client.Tools] omits.
func (i Integration) ToolPages(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pages(ctx, mcp.MethodListTools, opts)
}

// ResourcePages yields the results of resources/list.
func (i Integration) ResourcePages(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pagesOf(ctx, resourcesCapability, mcp.MethodListResources, opts)
}

// ResourceTemplatePages yields the results of resources/templates/list.
func (i Integration) ResourceTemplatePages(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pagesOf(ctx, resourcesCapability, mcp.MethodListResourceTemplates, opts)
}

// PromptPages yields the results of prompts/list.
func (i Integration) PromptPages(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pagesOf(ctx, promptsCapability, mcp.MethodListPrompts, opts)
}

// SkillPages yields the results of skills/list. They include the skills that [Client.Skills] omits.
func (i Integration) SkillPages(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pagesOf(ctx, skillsCapability, mcp.MethodListSkills, opts)
}

// definitions is a page of any list.
type definitions struct {
	Tools     []json.RawMessage `json:"tools"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
	Prompts   []json.RawMessage `json:"prompts"`
	Skills    []json.RawMessage `json:"skills"`
	Tasks     []json.RawMessage `json:"tasks"`
}

// ToolDefinitions yields the tools of [Client.Tools] as the server wrote them.
func (i Integration) ToolDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(i.c, "tools", i.ToolPages(ctx, opts...), mcp.MethodListTools,
		func(d *definitions) []json.RawMessage {
			return slices.DeleteFunc(d.Tools, func(tool json.RawMessage) bool {
				name, _ := jsonscan.Text(jsonscan.Member(tool, "name"))
				return i.c.headerTools.tool(name).bad != nil
			})
		})
}

// ResourceDefinitions yields the resources of [Client.Resources] as the server wrote them.
func (i Integration) ResourceDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(i.c, "resources", i.ResourcePages(ctx, opts...), mcp.MethodListResources,
		func(d *definitions) []json.RawMessage { return d.Resources })
}

// ResourceTemplateDefinitions yields the templates of [Client.ResourceTemplates] as the server
// wrote them.
func (i Integration) ResourceTemplateDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(i.c, "resource templates", i.ResourceTemplatePages(ctx, opts...),
		mcp.MethodListResourceTemplates,
		func(d *definitions) []json.RawMessage { return d.Templates })
}

// PromptDefinitions yields the prompts of [Client.Prompts] as the server wrote them.
func (i Integration) PromptDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(i.c, "prompts", i.PromptPages(ctx, opts...), mcp.MethodListPrompts,
		func(d *definitions) []json.RawMessage { return d.Prompts })
}

// SkillDefinitions yields the entries of all skills as the server wrote them, including those that
// [Client.Skills] omits.
func (i Integration) SkillDefinitions(ctx context.Context,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return items(i.c, "skills", i.SkillPages(ctx, opts...), mcp.MethodListSkills,
		func(d *definitions) []json.RawMessage { return d.Skills })
}
