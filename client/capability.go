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

// A capability is a feature that a server may declare.
type capability struct {
	name string
	in   func(*session) bool
}

var (
	resourcesCapability = capability{mcp.KindResource.Info().Capability,
		func(s *session) bool { return s.capabilities.Resources != nil }}
	subscribeCapability = capability{"resources.subscribe", func(s *session) bool {
		return s.capabilities.Resources != nil && s.capabilities.Resources.Subscribe
	}}
	promptsCapability = capability{mcp.KindPrompt.Info().Capability,
		func(s *session) bool { return s.capabilities.Prompts != nil }}
	// Before 2025-03-26, servers supported completion without declaring it.
	completionsCapability = capability{"completions", func(s *session) bool {
		return s.capabilities.Completions != nil || !s.features.Completions
	}}
)

// listCapabilities are the capabilities without which a list is not requested. Tools are requested
// from every server. It is read only.
var listCapabilities = map[mcp.Kind]capability{
	mcp.KindTool:     {in: func(*session) bool { return true }},
	mcp.KindResource: resourcesCapability, mcp.KindResourceTemplate: resourcesCapability,
	mcp.KindPrompt: promptsCapability, mcp.KindSkill: skillsCapability,
}

// require returns nil, or the error of a call that needs a capability that the server does not
// declare.
func (c *Client) require(needed capability, method, name string) error {
	if needed.in(c.session.Load()) {
		return nil
	}
	return &CallError{Server: c.o.Name, Method: method, Name: name,
		Err: &undeclaredError{needed.name}}
}

// request makes a call that needs a capability.
func (c *Client) request(ctx context.Context, needed capability, r *call, opts []CallOption) error {
	if err := c.require(needed, r.method, r.name); err != nil {
		return err
	}
	return c.do(ctx, r, opts)
}

// pagesOf is pages for a list that needs a capability.
func (c *Client) pagesOf(ctx context.Context, needed capability, method string,
	opts []CallOption) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if err := c.require(needed, method, ""); err != nil {
			yield(nil, err)
			return
		}
		c.pages(ctx, method, opts)(yield)
	}
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
	if kind.Info().ListMethod == "" {
		return func(yield func(json.RawMessage, error) bool) {
			yield(nil, fmt.Errorf("client: no method lists items of the kind %q", kind))
		}
	}
	return i.c.pagesOf(ctx, listCapabilities[kind], kind.Info().ListMethod, opts)
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

func (d *definitions) of(kind mcp.Kind) []json.RawMessage {
	return map[mcp.Kind][]json.RawMessage{mcp.KindTool: d.Tools, mcp.KindResource: d.Resources,
		mcp.KindResourceTemplate: d.Templates, mcp.KindPrompt: d.Prompts,
		mcp.KindSkill: d.Skills}[kind]
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
