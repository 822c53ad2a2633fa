package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/questions"
)

// Elicit asks the client's user, with a form or a web page, and returns the user's response
// (2026-07-28, client/elicitation). Handlers of operations, tools, prompts and resources may call
// it, for clients of both eras:
//
//   - For a legacy client, Elicit sends a request, and blocks until the client responds or ctx
//     ends.
//   - A modern client gets the question as the result of its request, and repeats the request with
//     the answer. Elicit returns an error, which the handler must return. When the repeated request
//     arrives, the handler runs again, and Elicit returns the answer. So a handler must tolerate
//     that the code up to each question runs more than once: see [Once] for side effects. Between
//     the rounds the server keeps no state; the client carries the answers, encrypted, in
//     requestState.
//
// key names the question within its request. The key "confirm_operation" is reserved. A modern
// client may send the answer with its first request, before it has read the question, unless key
// begins with "stdwire/". A question with the same key and the same params is asked once, even if
// the handler runs again because its call had to be confirmed; if the params change, it is asked
// again. To ask several questions in one round, make all the calls and join their errors.
//
// Elicit may be called from several goroutines, until the handler returns. The specification allows
// only an object of primitive values and enums as the schema of a form; nil means a form without
// fields, which the user accepts or declines. Params with a URL and without a Mode have URL mode.
// Members that the mode does not have are an error.
// The content of an accepted form fits the schema, and its defaults are filled in. [Ask] derives
// the form from a Go type.
//
// If the client does not declare the capability, the error matches [ErrUnsupported]. A handler that
// returns it ends the request with the error that the protocol defines for this case; a handler
// that does not need the answer may continue.
func Elicit(ctx context.Context, key string, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	if params.Mode, err = questions.ElicitMode(&params); err != nil {
		return nil, fmt.Errorf("server: Elicit %q: %w", key, err)
	}
	if err := r.requireElicitation(params.Mode); err != nil {
		return nil, err
	}
	form, err := questions.PrepareElicitation(&params, r.era.Revision)
	if err != nil {
		return nil, fmt.Errorf("server: Elicit %q: %w", key, err)
	}
	result := new(mcp.ElicitResult)
	err = r.ask(ctx, key, mcp.MethodElicit, params, func(answer []byte) error {
		*result = mcp.ElicitResult{}
		if err := mcp.Unmarshal(answer, result); err != nil {
			return err
		}
		switch result.Action {
		case mcp.ElicitDecline, mcp.ElicitCancel:
			return nil
		case mcp.ElicitAccept:
		default:
			return fmt.Errorf("%.50q is not an elicitation action", result.Action)
		}
		if form == nil {
			return nil
		}
		if len(result.Content) == 0 {
			result.Content = json.RawMessage(`{}`)
		}
		filled, err := form.FillDefaults(result.Content)
		if err == nil {
			result.Content = filled
			err = form.Validate(filled)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// formCodec decodes answers in the form that package schema publishes.
var formCodec = jsonexact.NewPortable()

// Ask asks the client's user with a form, and returns the values that the user entered. The fields
// of the struct T become the fields of the form: strings, numbers, booleans, and slices of strings
// with an enum. Their tags set titles, defaults, choices and limits, as [schema.For] describes. A
// field with omitempty is optional. With T = struct{} the user only accepts or declines the
// message.
//
//	type order struct {
//		Size  string `json:"size" enum:"small,large"`
//		Count int    `json:"count" default:"1" min:"1"`
//	}
//	o, action, err := server.Ask[order](ctx, "order", "What shall it be?")
//	if err != nil || action != mcp.ElicitAccept {
//		return "nothing was ordered", err
//	}
//
// The value is the zero T unless action is [mcp.ElicitAccept]. Ask follows the rules of [Elicit]:
// the handler returns its error, and may run again.
func Ask[T any](ctx context.Context, key, message string) (value T, action mcp.ElicitAction,
	err error) {
	form, err := schema.ForType(reflect.TypeFor[T](), schema.Open)
	if err != nil {
		return value, "", fmt.Errorf("server: Ask %q: %w", key, err)
	}
	if reflect.TypeFor[T]() == reflect.TypeFor[struct{}]() {
		form = nil
	}
	result, err := Elicit(ctx, key, mcp.ElicitParams{Message: message, RequestedSchema: form})
	switch {
	case err != nil:
		return value, "", err
	case result.Action == mcp.ElicitAccept:
		if err := formCodec.Unmarshal(result.Content, &value); err != nil {
			return *new(T), "", fmt.Errorf("server: Ask %q: %w", key, err)
		}
	}
	return value, result.Action, nil
}

// requireElicitation returns an error unless the client declares elicitation in that mode.
func (r *request) requireElicitation(mode string) error {
	if r.era.SupportsElicitation(mode) {
		return nil
	}
	wanted := &mcp.ElicitationCapability{Form: &mcp.Object{}}
	if mode == mcp.ElicitURL {
		wanted = &mcp.ElicitationCapability{URL: &mcp.Object{}}
	}
	return r.missingCapability("elicitation", mcp.ClientCapabilities{Elicitation: wanted})
}

// capabilitiesFor returns the client's capabilities. It returns an error unless the client declares
// the one that sampling/createMessage or roots/list needs.
func (r *request) capabilitiesFor(method string) (mcp.ClientCapabilities, error) {
	can, err := r.era.ClientCapabilities()
	switch {
	case err != nil:
	case method == mcp.MethodCreateMessage && can.Sampling == nil:
		err = r.missingCapability("sampling",
			mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
	case method == mcp.MethodListRoots && can.Roots == nil:
		err = r.missingCapability("roots", mcp.ClientCapabilities{Roots: &mcp.ListCapability{}})
	}
	return can, err
}

// Sample asks the client's model to continue a conversation (2026-07-28, client/sampling). It
// follows the rules of [Elicit]. If the model has used tools, the next message must contain a
// result for each use, and nothing else.
func Sample(ctx context.Context, key string,
	params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := questions.CheckMessages(params.Messages); err != nil {
		return nil, fmt.Errorf("server: Sample %q: %w", key, err)
	}
	can, err := r.capabilitiesFor(mcp.MethodCreateMessage)
	switch {
	case err != nil:
		return nil, err
	case can.Sampling.Tools == nil && (params.Tools != nil || params.ToolChoice != nil):
		return nil, r.missingCapability("sampling.tools",
			mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &mcp.Object{}}})
	}
	result := new(mcp.CreateMessageResult)
	err = r.ask(ctx, key, mcp.MethodCreateMessage, params, func(answer []byte) error {
		if err := decodeInto(result)(answer); err != nil || len(result.Content) > 0 &&
			result.Role != "" {
			return err
		}
		return errors.New("it has no message")
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Roots asks the client for its roots, the directories that the server may work in (2026-07-28,
// client/roots). It follows the rules of [Elicit].
func Roots(ctx context.Context, key string) ([]mcp.Root, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	if _, err = r.capabilitiesFor(mcp.MethodListRoots); err != nil {
		return nil, err
	}
	var result mcp.ListRootsResult
	err = r.ask(ctx, key, mcp.MethodListRoots, struct{}{}, func(answer []byte) error {
		if err := decodeInto(&result)(answer); err != nil || result.Roots != nil {
			return err
		}
		return errors.New("roots is missing")
	})
	if err != nil {
		return nil, err
	}
	return result.Roots, nil
}

// Roots asks a legacy client for its roots outside of a request, and blocks until the client
// responds or ctx ends (2025-11-25, client/roots). It returns nil if the client does not declare
// roots. A modern client can be asked only during a request: see the function [Roots].
func (c *Conn) Roots(ctx context.Context) ([]mcp.Root, error) {
	link := c.unsolicitedLink()
	if link == nil || c.Capabilities().Roots == nil {
		return nil, nil
	}
	var result mcp.ListRootsResult
	err := link.Call(&connContext{ctx, c, nil}, mcp.MethodListRoots, nil, &result)
	return result.Roots, err
}

// RequireInput asks the client several questions at once. It is the alternative to [Elicit],
// [Sample] and [Roots] for handlers that keep their own state between the rounds (2026-07-28,
// basic/patterns/mrtr). The handler must return the error that RequireInput returns, and the client
// gets the requests. When the client repeats its request, the handler runs again, and [Inputs]
// returns the answers and state. Only servers with the same [Options].StateKey can decrypt state.
//
// For a legacy client, the server sends the requests and then runs the handler again, up to 10
// times. As with Elicit, the error matches [ErrUnsupported] if the client does not declare the
// capability that an answer needs. The handler must validate the answers. RequireInput does not
// work in a handler whose call has become a task.
func RequireInput(ctx context.Context, requests mcp.InputRequests, state string) error {
	r, err := askableRequest(ctx, "")
	if err != nil {
		return err
	}
	for _, question := range requests {
		if err := r.requireCapabilityFor(question); err != nil {
			return err
		}
	}
	if r.era.Modern {
		r.mu.Lock()
		defer r.mu.Unlock()
		x := r.mrtr()
		x.HandlerState, x.Pending = state, maps.Clone(requests)
		for key, question := range requests {
			x.Pending[key] = mrtr.Traced(question, &r.params.Meta)
			x.RecordQuestion(key, mrtr.Digest(question))
			delete(x.Answers, key)
		}
		return r.stop(nil)
	}
	answers := mcp.InputResponses{}
	for key, question := range requests {
		answer, err := r.callClient(ctx, question)
		if err != nil {
			return err
		}
		answers[key] = answer
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.mrtr()
	x.HandlerState, x.Rerun = state, true
	for key, answer := range answers {
		x.RecordAnswer(key, answer)
	}
	return r.stop(nil)
}

// requireCapabilityFor returns an error unless the client declares the capability that a question
// needs.
func (r *request) requireCapabilityFor(question mcp.InputRequest) error {
	if _, err := r.era.ClientCapabilities(); err != nil {
		return err
	}
	switch question.Method {
	case mcp.MethodElicit:
		var params mcp.ElicitParams
		if err := mcp.Unmarshal(question.Params, &params); err != nil {
			return fmt.Errorf("server: RequireInput: %s: %w", question.Method, err)
		}
		if mode, err := questions.ElicitMode(&params); err != nil || mode != params.Mode {
			return fmt.Errorf("server: RequireInput: %s has a url and no mode; add the mode %q",
				question.Method, mcp.ElicitURL)
		}
		return r.requireElicitation(params.Mode)
	case mcp.MethodCreateMessage, mcp.MethodListRoots:
		_, err := r.capabilitiesFor(question.Method)
		return err
	}
	return fmt.Errorf("server: RequireInput: a client cannot be asked %q", question.Method)
}

// Inputs returns the client's answers to [RequireInput] so far, and the state of the latest call of
// RequireInput. Both are empty in the first run of the handler. The caller must not modify the
// responses.
func Inputs(ctx context.Context) (responses mcp.InputResponses, state string) {
	r := requestFrom(ctx)
	if r == nil {
		return nil, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rounds == nil {
		return nil, ""
	}
	return maps.Clone(r.rounds.Answers), r.rounds.HandlerState
}
