package server

import (
	"context"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Completer suggests values for an argument, based on the text that the user has typed so far and
// on the arguments that already have a value (2026-07-28, server/utilities/completion). At most 100
// values are sent to the client. The error follows the rules of [Resource].Read.
type Completer func(ctx context.Context, argument, typed string,
	settled map[string]string) (mcp.Completion, error)

// complete answers completion/complete. An item without a Completer has no suggestions; an unknown
// item is an error.
func complete(r *request) (*Result, error) {
	var params mcp.CompleteParams
	if err := mcp.Unmarshal(r.Params, &params); err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %v", err)
	}
	if params.Argument.Name == "" {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: argument.name must be a non-empty string")
	}
	suggest, err := r.completer(params.Ref)
	if err != nil {
		return nil, err
	}
	var result mcp.CompleteResult
	if suggest != nil {
		var settled map[string]string
		if params.Context != nil {
			settled = params.Context.Arguments
		}
		if result.Completion, err = suggest(r, params.Argument.Name, params.Argument.Value,
			settled); err != nil {
			return r.handlerError(err)
		}
	}
	switch c := &result.Completion; {
	case c.Values == nil:
		c.Values = []string{}
	case len(c.Values) > mcp.MaxCompletions:
		if total := int64(len(c.Values)); c.Total == nil {
			c.Total = &total
		}
		c.Values, c.HasMore = c.Values[:mcp.MaxCompletions], true
	}
	return r.encodeResult(&result, &result.Result)
}

// completer returns what suggests values for an argument of a prompt or a variable of a template;
// nil for nothing.
func (r *request) completer(ref mcp.CompleteReference) (Completer, error) {
	switch ref.Type {
	case mcp.RefPrompt:
		if i, _ := r.lookUp(mcp.KindPrompt, []byte(ref.Name)); i != nil {
			return i.complete, nil
		}
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown prompt: %.200s", ref.Name)
	case mcp.RefResource:
		if i, _ := r.lookUp(mcp.KindResourceTemplate, []byte(ref.URI)); i != nil {
			return i.complete, nil
		}
		if i := r.conn.server.resources.Listing().ByKey[ref.URI]; i != nil && r.maySee(i) {
			return nil, nil
		}
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown resource template: %.200s", ref.URI)
	}
	return nil, rpc.Errorf(rpc.CodeInvalidParams,
		"Invalid params: ref.type %.50q is neither %s nor %s", ref.Type, mcp.RefPrompt,
		mcp.RefResource)
}
