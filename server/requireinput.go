package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/mrtr"
	"github.com/stdwire/stdwire/server/internal/outgoing"
	"github.com/stdwire/stdwire/server/internal/questions"
)

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
			x.Pending[key] = r.traced(question)
			x.RecordQuestion(key, mrtr.Digest(question))
			delete(x.Answers, key)
		}
		return r.stopWith(nil)
	}
	answers := mcp.InputResponses{}
	for key, question := range requests {
		var answer json.RawMessage
		if err := r.link.Call(ctx, question.Method,
			outgoing.Params(r.traced(question).Params).OrNil(), &answer); err != nil {
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
	return r.stopWith(nil)
}

// requireCapabilityFor returns an error unless the client declares the capability that a question
// needs.
func (r *request) requireCapabilityFor(question mcp.InputRequest) error {
	can, err := r.era.ClientCapabilities()
	if err != nil {
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
	case mcp.MethodCreateMessage:
		if can.Sampling == nil {
			return r.missingCapability("sampling",
				mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
		}
	case mcp.MethodListRoots:
		if can.Roots == nil {
			return r.missingCapability("roots",
				mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}})
		}
	default:
		return fmt.Errorf("server: RequireInput: a client cannot be asked %q", question.Method)
	}
	return nil
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
