package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// All returns what a list such as [Client.Tools] yields as a slice. If the list ends with an error,
// it returns the items before the error as well.
//
//	tools, err := client.All(c.Tools(ctx))
func All[T any](list iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range list {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

// Resources yields the resources of the server (2026-07-28, Resources, "Listing Resources"), with
// the limits and errors of [Client.Tools], and [ErrUndeclared] if the server does not declare
// resources.
func (c *Client) Resources(ctx context.Context,
	opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return itemsOf(ctx, c, mcp.KindResource, opts,
		func(r *mcp.ListResourcesResult) []*mcp.Resource { return r.Resources })
}

// ResourceTemplates yields the resource templates of the server (2026-07-28, Resources, "Resource
// Templates"), as [Client.Resources] does for resources.
func (c *Client) ResourceTemplates(ctx context.Context,
	opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return itemsOf(ctx, c, mcp.KindResourceTemplate, opts,
		func(r *mcp.ListResourceTemplatesResult) []*mcp.ResourceTemplate {
			return r.ResourceTemplates
		})
}

// ReadResource reads a resource (2026-07-28, Resources, "Reading Resources"), whether it is listed,
// matches a template or is linked in a result. It blocks as [Client.Call] does; the error is one of
// Call or [ErrUndeclared]. For an unknown resource it is an [*rpc.Error] with
// [mcp.CodeResourceNotFound] from a legacy server, and with [rpc.CodeInvalidParams] from a modern
// one.
func (c *Client) ReadResource(ctx context.Context, uri string,
	opts ...CallOption) (*mcp.ReadResourceResult, error) {
	result := new(mcp.ReadResourceResult)
	r := &call{method: mcp.MethodReadResource, name: uri, params: &mcp.ReadResourceParams{URI: uri},
		decode: decodeInto(result)}
	if err := c.request(ctx, resourcesCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}

// Prompts yields the prompts of the server (2026-07-28, Prompts, "Listing Prompts"), with the
// limits and errors of [Client.Tools], and [ErrUndeclared] if the server does not declare
// prompts.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Prompt, error] {
	return itemsOf(ctx, c, mcp.KindPrompt, opts,
		func(r *mcp.ListPromptsResult) []*mcp.Prompt { return r.Prompts })
}

// GetPrompt returns the messages of a prompt (2026-07-28, Prompts, "Getting a Prompt"). Arguments
// are strings; nil means none. It blocks as [Client.Call] does; the error is one of Call or
// [ErrUndeclared].
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string,
	opts ...CallOption) (*mcp.GetPromptResult, error) {
	result := new(mcp.GetPromptResult)
	r := &call{method: mcp.MethodGetPrompt, name: name,
		params: &mcp.GetPromptParams{Name: name, Arguments: arguments}, decode: decodeInto(result)}
	if err := c.request(ctx, promptsCapability, r, opts); err != nil {
		return nil, err
	}
	return result, nil
}

// Complete returns completions for the value typed so far of a prompt argument or a resource
// template variable (2026-07-28, Completion). Settled are the values of other arguments, or nil;
// they are not sent to servers older than 2025-06-18. It blocks as [Client.Call] does; the error is
// one of Call or [ErrUndeclared].
func (c *Client) Complete(ctx context.Context, ref mcp.CompleteReference, argument, value string,
	settled map[string]string, opts ...CallOption) (*mcp.Completion, error) {
	params := &mcp.CompleteParams{Ref: ref,
		Argument: mcp.CompleteArgument{Name: argument, Value: value}}
	if settled != nil && c.session.Load().features.CompletionContext {
		params.Context = &mcp.CompleteContext{Arguments: settled}
	}
	result := new(mcp.CompleteResult)
	r := &call{method: mcp.MethodComplete, params: params, decode: decodeInto(result)}
	if err := c.request(ctx, completionsCapability, r, opts); err != nil {
		return nil, err
	}
	return &result.Completion, nil
}

// An Integration has the methods of a [Client] for programs that forward or record the text that
// the server wrote, such as package client/host/gateway; applications do not need them. They return
// lists without decoding them. Limits, errors and options are those of [Client.Tools] and its
// siblings; for a kind without a list method, such as [mcp.KindApp], there is an error. All methods
// are safe for concurrent use.
type Integration struct{ c *Client }

// Integration returns the methods for gateways and other programs that forward lists.
func (c *Client) Integration() Integration { return Integration{c} }

// Use calls a tool, gets a prompt or reads a resource, and returns the result as the server wrote
// it. name is the name or the URI. arguments are those of the tool or prompt, a JSON object; nil
// means none. It blocks and fails as [Client.CallTool], [Client.GetPrompt] or [Client.ReadResource]
// does, except that it does not decode the result.
func (i Integration) Use(ctx context.Context, kind mcp.Kind, name string,
	arguments json.RawMessage, opts ...CallOption) (json.RawMessage, error) {
	if kind == mcp.KindTool {
		return i.c.CallToolRaw(ctx, name, arguments, opts...)
	}
	r := &call{name: name}
	r.decode = r.keep
	switch kind {
	case mcp.KindPrompt:
		r.method, r.params = mcp.MethodGetPrompt, struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments,omitempty"`
		}{name, arguments}
	case mcp.KindResource:
		r.method, r.params = mcp.MethodReadResource, &mcp.ReadResourceParams{URI: name}
	default:
		return nil, fmt.Errorf("client: no method uses items of the kind %q", kind)
	}
	err := i.c.request(ctx, listCapabilities[kind], r, opts)
	return r.kept, err
}

// Directory returns an array of the definitions that [Client.ReadDirectory] yields.
func (i Integration) Directory(ctx context.Context, uri string,
	opts ...CallOption) (json.RawMessage, error) {
	all := []byte{'['}
	for definition, err := range directory(ctx, i.c, uri, opts,
		func(d *definitions) []json.RawMessage { return d.Resources }) {
		if err != nil {
			return nil, err
		}
		all = jsonscan.AppendElement(all, definition)
	}
	return append(all, ']'), nil
}

// Pages yields the results of the method that lists a kind of items. They include the tools and
// skills that [Client.Tools] and [Client.Skills] omit.
func (i Integration) Pages(ctx context.Context, kind mcp.Kind,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return i.c.pagesOfKind(ctx, kind, opts)
}

// Definitions yields the items of a kind as the server wrote them: the tools of [Client.Tools], and
// all skills, also those that [Client.Skills] omits.
func (i Integration) Definitions(ctx context.Context, kind mcp.Kind,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	return itemsOf(ctx, i.c, kind, opts, func(d *definitions) []json.RawMessage {
		if kind != mcp.KindTool {
			return d.of(kind)
		}
		return slices.DeleteFunc(d.Tools, func(tool json.RawMessage) bool {
			return i.c.headerTools.Tool(kind.KeyOf(tool)).Bad != nil
		})
	})
}
