package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// An Integration has the methods of a [Client] for programs that forward or record the text that
// the server wrote, such as package client/host/gateway; applications do not need them. They return
// lists without decoding them. Limits, errors and options are those of [Client.Tools] and its
// siblings; for a kind without a list method, such as [mcp.KindApp], there is an error. All methods
// are safe for concurrent use.
type Integration struct{ c *Client }

// Integration returns the methods for gateways and other programs that forward lists.
func (c *Client) Integration() Integration { return Integration{c} }

// Pages yields the results of the method that lists a kind of items. They include the tools and
// skills that [Client.Tools] and [Client.Skills] omit.
func (i Integration) Pages(ctx context.Context, kind mcp.Kind,
	opts ...CallOption) iter.Seq2[json.RawMessage, error] {
	if kind.ListMethod() == "" {
		return func(yield func(json.RawMessage, error) bool) {
			yield(nil, fmt.Errorf("client: no method lists items of the kind %q", kind))
		}
	}
	return i.c.pagesOf(ctx, listCapabilities[kind], kind.ListMethod(), opts)
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
