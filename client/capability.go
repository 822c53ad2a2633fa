package client

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A capability is a feature that a server may declare.
type capability struct {
	name string
	in   func(*session) bool
}

var (
	resourcesCapability = capability{mcp.KindResource.Capability(),
		func(s *session) bool { return s.capabilities.Resources != nil }}
	subscribeCapability = capability{"resources.subscribe", func(s *session) bool {
		return s.capabilities.Resources != nil && s.capabilities.Resources.Subscribe
	}}
	promptsCapability = capability{mcp.KindPrompt.Capability(),
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
		Err: &UndeclaredError{needed.name}}
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
