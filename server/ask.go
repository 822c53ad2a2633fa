package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ErrNoRequest is the error of Elicit, Sample, Roots and Once outside of a request that may ask its client: tools/call, prompts/get, resources/read.
var ErrNoRequest = errors.New("server: there is no request here whose client could be asked")

// Elicit asks the client's user, in a form or on a web page, and returns what came of it (2026-07-28, client/elicitation). It is for handlers, of operations,
// tools, prompts and resources, and works with clients of both eras:
//
//   - A legacy client is called, and Elicit blocks until it answers or ctx ends.
//   - A modern client gets the question as the result of its request, and sends the request again with the answer. Elicit fails then, the handler returns that
//     error, and runs anew when the request comes again; this time Elicit returns the answer. So a handler must be fit to run more than once up to each
//     question: see [Once] for what must happen only once. Nothing is remembered between the rounds but what the client carries, sealed.
//
// key names the question within its request; a question that is another one than it was gets a new answer. Several questions at once are
// asked by making all the calls and joining their errors.
//
// It is to be called on the handler's own goroutine. A form's schema has to be of the kind that the specification allows. The content of an accepted form fits it, and has its defaults filled in. A client
// that has not declared that it can do this makes Elicit fail with an error that is, for the modern era, a missing required capability.
func Elicit(ctx context.Context, key string, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r, form, err := asking(ctx), (*schema.Schema)(nil), error(nil)
	if r == nil {
		return nil, ErrNoRequest
	}
	if params.Mode != mcp.ElicitURL {
		if form, err = compileForm(params.RequestedSchema); err != nil {
			return nil, fmt.Errorf("server: Elicit %q: %w", key, err)
		}
	}
	if !r.era.elicits(params.Mode) {
		wanted := &mcp.ElicitationCapability{Form: &mcp.Object{}}
		if params.Mode == mcp.ElicitURL {
			wanted = &mcp.ElicitationCapability{URL: &mcp.Object{}}
		}
		return nil, r.lacks("elicitation", mcp.ClientCapabilities{Elicitation: wanted})
	}
	result := new(mcp.ElicitResult)
	_, err = r.exchange().ask(ctx, key, mcp.MethodElicit, params, func(answer []byte) error {
		*result = mcp.ElicitResult{}
		if err := mcp.Unmarshal(answer, result); err != nil {
			return err
		}
		if result.Action != mcp.ElicitAccept || form == nil {
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

// Sample has the client's model continue a conversation (2026-07-28, client/sampling). It asks as [Elicit] does.
func Sample(ctx context.Context, key string, params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r := asking(ctx)
	if r == nil {
		return nil, ErrNoRequest
	}
	can, err := r.era.client()
	switch {
	case err != nil:
		return nil, err
	case can.Sampling == nil:
		return nil, r.lacks("sampling", mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
	case can.Sampling.Tools == nil && (params.Tools != nil || params.ToolChoice != nil):
		return nil, r.lacks("sampling.tools", mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &mcp.Object{}}})
	}
	result := new(mcp.CreateMessageResult)
	_, err = r.exchange().ask(ctx, key, mcp.MethodCreateMessage, params, decodes(result))
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Roots asks the client for the places that the server may work in (2026-07-28, client/roots). It asks as [Elicit] does.
func Roots(ctx context.Context, key string) ([]mcp.Root, error) {
	r := asking(ctx)
	if r == nil {
		return nil, ErrNoRequest
	}
	can, err := r.era.client()
	switch {
	case err != nil:
		return nil, err
	case can.Roots == nil:
		return nil, r.lacks("roots", mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}})
	}
	var result mcp.ListRootsResult
	if _, err := r.exchange().ask(ctx, key, mcp.MethodListRoots, nil, decodes(&result)); err != nil {
		return nil, err
	}
	return result.Roots, nil
}

func decodes[T any](result *T) func([]byte) error {
	return func(answer []byte) error {
		*result = *new(T)
		return mcp.Unmarshal(answer, result)
	}
}

// Once runs fn, unless a run of the handler for the same request has done so before it asked the client: then it returns what fn returned that time. What fn
// returns is encoded as JSON, and carried by a modern client until the request is done: keep it small. An error is not kept. key is of the same names as those of
// questions.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (value T, err error) {
	r := asking(ctx)
	if r == nil {
		return value, ErrNoRequest
	}
	const done = "once"
	x := r.exchange()
	if kept := x.state.Answers[key]; kept != nil && string(x.state.Asked[key]) == done {
		return value, mcp.Unmarshal(kept, &value)
	}
	if value, err = fn(ctx); err != nil || !r.era.modern {
		return value, err
	}
	encoded, err := mcp.Marshal(value)
	if err != nil {
		return value, fmt.Errorf("server: Once %q: %w", key, err)
	}
	if x.state.Asked == nil {
		x.state.Asked = map[string][]byte{}
	}
	x.state.Asked[key] = []byte(done)
	x.keep(key, encoded)
	return value, nil
}

// asking returns the request that ctx belongs to, nil if its client cannot be asked.
func asking(ctx context.Context) *request {
	r := requestFrom(ctx)
	if r == nil || !asks[r.Method] {
		return nil
	}
	return r
}

// asks are the requests that may have questions for their result (2026-07-28, basic/patterns/mrtr, Supported Requests).
var asks = map[string]bool{mcp.MethodCallTool: true, mcp.MethodGetPrompt: true, mcp.MethodReadResource: true}

// lacks is the error for a client that has not declared what it takes to be asked.
func (r *request) lacks(name string, capabilities mcp.ClientCapabilities) error {
	failure := &rpc.Error{Code: rpc.CodeInvalidParams, Message: "the client does not declare the capability " + name}
	if r.era.modern {
		failure.Code = mcp.CodeMissingRequiredClientCapability
		failure.Data, _ = mcp.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: capabilities})
	}
	return r.exchange().stop(failure)
}

// client is what the client has declared.
func (e *era) client() (can mcp.ClientCapabilities, err error) {
	if e.capabilities == nil {
		return can, nil
	}
	if err := mcp.Unmarshal(e.capabilities, &can); err != nil {
		return can, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: the client's capabilities: %v", err)
	}
	return can, nil
}

// elicits reports whether the client can ask its user in that mode.
func (e *era) elicits(mode string) bool {
	f, _ := mcp.FeaturesOf(e.revision)
	can, err := e.client()
	switch {
	case err != nil || !f.Elicitation:
		return false
	case mode == mcp.ElicitURL:
		return f.URLElicitation && can.Elicitation.SupportsURL()
	}
	return can.Elicitation.SupportsForm()
}

// compileForm compiles the schema of a form, if it is one that the specification allows: an object of plain values (2026-07-28, client/elicitation, Requested
// Schema).
func compileForm(text json.RawMessage) (*schema.Schema, error) {
	var form mcp.ElicitSchema
	if err := mcp.Unmarshal(text, &form); err != nil {
		return nil, fmt.Errorf("the schema of the form: %w", err)
	}
	for _, p := range form.Properties {
		switch f := p.Schema; {
		case f.Type == "string", f.Type == "number", f.Type == "integer", f.Type == "boolean":
		case f.Type == "array" && f.Items != nil && (f.Items.Enum != nil || f.Items.AnyOf != nil):
		default:
			return nil, fmt.Errorf("the schema of the form: %q is neither a plain value nor a choice", p.Name)
		}
	}
	return schema.Compile(text)
}
