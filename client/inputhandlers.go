package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxAsking = 16 // input requests of one call that are answered concurrently

// newInputHandlers returns the handlers of the input requests that have callbacks and so are
// declared.
func (c *Client) newInputHandlers() map[string]inputHandler {
	table := make(map[string]inputHandler)
	if c.o.Roots != nil || c.o.OnRoots != nil {
		table[mcp.MethodListRoots] = c.answerListRoots
	}
	if c.o.OnElicit != nil {
		table[mcp.MethodElicit] = c.elicit
	}
	if c.o.OnSample != nil {
		table[mcp.MethodCreateMessage] = c.sample
	}
	return table
}

// An invalidInputRequest is the error of an input request that is invalid. It matches
// [rpc.ErrProtocol].
type invalidInputRequest struct{ text string }

func (e *invalidInputRequest) Error() string        { return e.text }
func (e *invalidInputRequest) Is(target error) bool { return target == rpc.ErrProtocol }

func invalidInputRequestf(format string, args ...any) error {
	return &invalidInputRequest{fmt.Sprintf(format, args...)}
}

func encode(v any) (json.RawMessage, error) {
	raw, err := mcp.Marshal(v)
	return raw, err
}

// errCallbackGoexit is the error of a callback that calls runtime.Goexit.
var errCallbackGoexit = errors.New("a callback has ended its goroutine instead of returning")

// runInputCallback runs a callback that answers an input request. A panic becomes an error.
func runInputCallback[P, R any](ctx context.Context, c *Client, name, method string,
	callback func(context.Context, P) (*R, error), params P) (result *R, err error) {
	failure := contain.Run(func() { result, err = callback(ctx, params) })
	switch {
	case failure != nil && failure.Stack == nil:
		return nil, errCallbackGoexit
	case failure != nil:
		c.logCallbackPanic(name, failure)
		return nil, &rpc.PanicError{Method: method, Value: failure.Value, Stack: failure.Stack}
	}
	if err == nil && result == nil {
		err = errors.New("Options." + name + " returned neither a result nor an error")
	}
	return result, err
}

// elicit handles elicitation/create with Options.OnElicit (2026-07-28, Elicitation).
func (c *Client) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var params mcp.ElicitParams
	if err := mcp.Unmarshal(raw, &params); err != nil {
		return nil, invalidInputRequestf("%v", err)
	}
	params.Mode = cmp.Or(params.Mode, mcp.ElicitForm)
	if !c.o.elicits(params.Mode) {
		return nil, invalidInputRequestf("this client does not elicit in the mode %.50q",
			params.Mode)
	}
	var form *schema.Schema // nil for a web page
	if params.Mode == mcp.ElicitForm {
		var err error
		if form, err = compileForm(params.RequestedSchema); err != nil {
			return nil, invalidInputRequestf("requestedSchema: %v", err)
		}
	}
	if form == nil && params.ElicitationID != "" {
		c.urlElicitations.MarkRequested(params.ElicitationID)
	}
	result, err := runInputCallback(ctx, c, "OnElicit", mcp.MethodElicit, c.o.OnElicit, params)
	if err != nil {
		return nil, err
	}
	answer := *result
	if answer.Content, err = content(form, result); err != nil {
		return nil, fmt.Errorf("the result of Options.OnElicit: %w", err)
	}
	return encode(answer)
}

// compileForm compiles the schema of a form, which must be flat, so that whoever displays the form
// need not expect a schema that is recursive.
func compileForm(text json.RawMessage) (*schema.Schema, error) {
	if err := elicitschema.Check(text); err != nil {
		return nil, err
	}
	return schema.Options{AssertFormats: true}.Compile(bytes.Clone(text))
}

// content returns the content to send for a result: with the schema's defaults, and nil unless
// accepted.
func content(form *schema.Schema, result *mcp.ElicitResult) (json.RawMessage, error) {
	switch result.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return nil, nil
	case mcp.ElicitAccept:
	default:
		return nil, fmt.Errorf("%.50q is not an elicitation action", result.Action)
	}
	if form == nil {
		return nil, nil
	}
	filled := result.Content
	if len(filled) == 0 {
		filled = json.RawMessage(`{}`)
	}
	filled, err := form.FillDefaults(filled)
	if err == nil {
		err = form.Validate(filled)
	}
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	return filled, nil
}

// sample handles sampling/createMessage with Options.OnSample (2026-07-28, Sampling).
func (c *Client) sample(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var params mcp.CreateMessageParams
	if err := mcp.Unmarshal(raw, &params); err != nil {
		return nil, invalidInputRequestf("%v", err)
	}
	if !c.o.SampleTools && (params.Tools != nil || params.ToolChoice != nil) {
		return nil, invalidInputRequestf("this client does not let the model use tools")
	}
	result, err := runInputCallback(ctx, c, "OnSample", mcp.MethodCreateMessage, c.o.OnSample,
		params)
	switch {
	case err != nil:
		return nil, err
	case result.Role == "" || len(result.Content) == 0:
		return nil, errors.New("the result of Options.OnSample has no role or no content")
	}
	return encode(result)
}

// answerListRoots handles roots/list (2026-07-28, Roots).
func (c *Client) answerListRoots(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
	if c.o.OnRoots == nil {
		return encode(mcp.ListRootsResult{Roots: c.o.Roots})
	}
	result, err := runInputCallback(ctx, c, "OnRoots", mcp.MethodListRoots,
		func(ctx context.Context, _ struct{}) (*mcp.ListRootsResult, error) {
			roots, err := c.o.OnRoots(ctx)
			if roots == nil {
				roots = []mcp.Root{}
			}
			return &mcp.ListRootsResult{Roots: roots}, err
		}, struct{}{})
	if err != nil {
		return nil, err
	}
	return encode(*result)
}

// RootsChanged notifies a legacy server that the result of Options.OnRoots has changed (2025-11-25,
// Roots, "Root List Changes"). It does nothing for a modern server, which asks when it needs the
// roots, or if OnRoots is not set. It blocks while the server does not read, until ctx ends.
func (c *Client) RootsChanged(ctx context.Context) error {
	if c.o.OnRoots == nil || c.session.Load().features.Era == mcp.Modern {
		return nil
	}
	if err := c.notify(ctx, mcp.NotificationRootsListChanged, nil); err != nil {
		return c.connectionError(ctx, err)
	}
	return nil
}
