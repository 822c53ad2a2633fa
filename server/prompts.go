package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/params"
)

// A Prompt is a template for messages. Users select prompts (2026-07-28, server/prompts).
type Prompt struct {
	mcp.Prompt

	// Get returns the messages. All required arguments are present. The error follows the rules of
	// [Resource].Read. Get must be safe for concurrent use.
	Get func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult, error)

	// Complete suggests values for an argument; nil: no suggestions.
	Complete Completer
}

// AddPrompt adds a prompt, or replaces the one with the same name. It fails if Name is empty or Get
// is nil.
func (s *Server) AddPrompt(p Prompt) error {
	if p.Name == "" || p.Get == nil {
		return itemError(mcp.KindPrompt, p.Name, errors.New("it needs a Name and Get"))
	}
	definition, err := mcp.Marshal(p.Prompt)
	if err != nil {
		return itemError(mcp.KindPrompt, p.Name, err)
	}
	i := newItem(mcp.KindPrompt, p.Name, definition)
	i.use, i.complete = p.use, p.Complete
	s.add(i)
	return nil
}

// getPrompt answers prompts/get.
func getPrompt(r *request) (*Result, error) {
	name, err := r.params.Text(paramName)
	if err != nil {
		return nil, err
	}
	found, _, err := r.find(mcp.KindPrompt, name)
	if err != nil {
		return r.handlerError(err)
	}
	if found == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Unknown prompt: %.200s", name)
	}
	return r.use(found, r.params.Get(paramArguments))
}

// use is the [useFunc] of a prompt.
func (p *Prompt) use(ctx context.Context, r *request, raw json.RawMessage) (*Result, error) {
	arguments, err := params.Prompt(p.Name, p.Arguments, raw)
	if err != nil {
		return nil, err
	}
	result, err := p.Get(ctx, arguments)
	if err != nil {
		return r.handlerError(err)
	}
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return a shared result
	own.Messages = slices.Clone(own.Messages)
	for i := range own.Messages {
		if own.Messages[i].Content == nil {
			return nil, r.logError(fmt.Errorf("server: prompt %q: message %d has no Content", p.Name, i))
		}
		own.Messages[i].Content = legacy.Content(r.era.Revision, own.Messages[i].Content)
	}
	return r.encodeResult(&own, &own.Result)
}

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
