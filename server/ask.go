package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

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
// key names the question within its request, and may be any but the server's own "confirm_operation". The same question under the same key is asked once,
// also if the handler runs again because its call had to be confirmed; a question that is another one than it was gets a new answer. Several questions at once
// are asked by making all the calls and joining their errors.
//
// It may be called from several goroutines at once, until the handler returns. A form's schema has to be of the kind that the specification allows. The content of an accepted form fits it, and has its defaults filled in. A client
// that has not declared that it can do this makes Elicit fail with an error that is, for the modern era, a missing required capability.
func Elicit(ctx context.Context, key string, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	form, err := r.era.prepareElicitation(&params)
	if err != nil {
		return nil, fmt.Errorf("server: Elicit %q: %w", key, err)
	}
	if err := r.requireElicitation(params.Mode); err != nil {
		return nil, err
	}
	result := new(mcp.ElicitResult)
	_, err = r.ask(ctx, key, mcp.MethodElicit, params, func(answer []byte) error {
		*result = mcp.ElicitResult{}
		if err := mcp.Unmarshal(answer, result); err != nil {
			return err
		}
		switch result.Action {
		case mcp.ElicitDecline, mcp.ElicitCancel:
			return nil
		case mcp.ElicitAccept:
		default:
			return fmt.Errorf("%.50q is no action", result.Action)
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

// Sample has the client's model continue a conversation (2026-07-28, client/sampling). It asks as [Elicit] does. Where the model has used tools, the next message has to
// have the result of each use, and nothing else.
func Sample(ctx context.Context, key string, params mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := checkMessages(params.Messages); err != nil {
		return nil, fmt.Errorf("server: Sample %q: %w", key, err)
	}
	can, err := r.era.clientCapabilities()
	switch {
	case err != nil:
		return nil, err
	case can.Sampling == nil:
		return nil, r.missingCapability("sampling", mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}})
	case can.Sampling.Tools == nil && (params.Tools != nil || params.ToolChoice != nil):
		return nil, r.missingCapability("sampling.tools", mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: &mcp.Object{}}})
	}
	result := new(mcp.CreateMessageResult)
	_, err = r.ask(ctx, key, mcp.MethodCreateMessage, params, func(answer []byte) error {
		if err := decodeInto(result)(answer); err != nil || len(result.Content) > 0 && result.Role != "" {
			return err
		}
		return errors.New("there is no message in it")
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Roots asks the client for the places that the server may work in (2026-07-28, client/roots). It asks as [Elicit] does.
func Roots(ctx context.Context, key string) ([]mcp.Root, error) {
	r, err := askableRequest(ctx, key)
	if err != nil {
		return nil, err
	}
	can, err := r.era.clientCapabilities()
	switch {
	case err != nil:
		return nil, err
	case can.Roots == nil:
		return nil, r.missingCapability("roots", mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}})
	}
	var result mcp.ListRootsResult
	_, err = r.ask(ctx, key, mcp.MethodListRoots, struct{}{}, func(answer []byte) error {
		if err := decodeInto(&result)(answer); err != nil || result.Roots != nil {
			return err
		}
		return errors.New("there are no roots in it, not even an empty list")
	})
	if err != nil {
		return nil, err
	}
	return result.Roots, nil
}

func decodeInto[T any](result *T) func([]byte) error {
	return func(answer []byte) error {
		*result = *new(T)
		return mcp.Unmarshal(answer, result)
	}
}

// askableRequest returns the request that ctx belongs to, if its client can be asked.
func askableRequest(ctx context.Context, key string) (*request, error) {
	r := requestFrom(ctx)
	switch {
	case r == nil || !asks[r.Method]:
		return nil, ErrNoRequest
	case key == keyConfirm:
		return nil, fmt.Errorf("server: the key %q is taken, by the question whether a call is confirmed; use another", key)
	}
	return r, nil
}

// asks are the requests that may have questions for their result (2026-07-28, basic/patterns/mrtr, Supported Requests).
var asks = map[string]bool{mcp.MethodCallTool: true, mcp.MethodGetPrompt: true, mcp.MethodReadResource: true}

// missingCapability is the error for a client that has not declared what it takes to be asked.
func (r *request) missingCapability(name string, capabilities mcp.ClientCapabilities) error {
	failure := &rpc.Error{Code: rpc.CodeInvalidParams, Message: "the client does not declare the capability " + name}
	if r.era.modern {
		failure.Code = mcp.CodeMissingRequiredClientCapability
		failure.Data, _ = mcp.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: capabilities})
	}
	return r.stop(failure)
}

// requireElicitation is nil if the client has declared that it can ask its user in that mode.
func (r *request) requireElicitation(mode string) error {
	if r.era.supportsElicitation(mode) {
		return nil
	}
	wanted := &mcp.ElicitationCapability{Form: &mcp.Object{}}
	if mode == mcp.ElicitURL {
		wanted = &mcp.ElicitationCapability{URL: &mcp.Object{}}
	}
	return r.missingCapability("elicitation", mcp.ClientCapabilities{Elicitation: wanted})
}

// clientCapabilities is what the client has declared.
func (e *era) clientCapabilities() (can mcp.ClientCapabilities, err error) {
	if e.capabilities == nil {
		return can, nil
	}
	if err := mcp.Unmarshal(e.capabilities, &can); err != nil {
		return can, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: the client's capabilities: %v", err)
	}
	return can, nil
}

// supportsElicitation reports whether the client can ask its user in that mode.
func (e *era) supportsElicitation(mode string) bool {
	f, _ := mcp.FeaturesOf(e.revision)
	can, err := e.clientCapabilities()
	switch {
	case err != nil || !f.Elicitation:
		return false
	case mode == mcp.ElicitURL:
		return f.URLElicitation && can.Elicitation.SupportsURL()
	}
	return can.Elicitation.SupportsForm()
}

// prepareElicitation makes the params of an elicitation fit the era, and returns the schema of the form; nil if there is none.
func (e *era) prepareElicitation(p *mcp.ElicitParams) (*schema.Schema, error) {
	f, _ := mcp.FeaturesOf(e.revision)
	switch p.Mode {
	case "", mcp.ElicitForm:
		p.URL, p.ElicitationID = "", ""
		return compileForm(p.RequestedSchema, f)
	case mcp.ElicitURL:
		p.RequestedSchema = nil
		if u, err := url.Parse(p.URL); err != nil || !u.IsAbs() || u.Host == "" && u.Opaque == "" {
			return nil, errors.New("there is no URL that could be opened: it must be absolute")
		}
		if !f.ElicitationComplete {
			p.ElicitationID = ""
		} else if p.ElicitationID == "" {
			p.ElicitationID = rand.Text()
		}
		return nil, nil
	}
	return nil, fmt.Errorf("the mode %.50q is neither %s nor %s", p.Mode, mcp.ElicitForm, mcp.ElicitURL)
}

// compileForm compiles the schema of a form, if it is one that the client's revision allows: an object of plain values (2026-07-28, client/elicitation,
// Requested Schema).
func compileForm(text json.RawMessage, f mcp.Features) (*schema.Schema, error) {
	var form mcp.ElicitSchema
	err := mcp.Unmarshal(text, &form)
	if err == nil && (form.Type != "object" || form.Properties == nil) {
		err = errors.New("it must be of type object, and say its properties")
	}
	for _, p := range form.Properties {
		switch s := p.Schema; {
		case s.Type == "string" && s.Format != "" && !formFormats[s.Format]:
			err = fmt.Errorf("%q: the format is none of date, date-time, email and uri", p.Name)
		case s.Type == "string", s.Type == "number", s.Type == "integer", s.Type == "boolean":
		case s.Type != "array" || s.Items == nil || s.Items.Enum == nil && s.Items.AnyOf == nil:
			err = fmt.Errorf("%q is neither a plain value nor a choice", p.Name)
		case !f.EnumSchemas:
			err = fmt.Errorf("%q is a choice of several, which revision %s does not have", p.Name, f.Revision)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the form: %w", err)
	}
	return schema.Compile(text, schema.AssertFormats())
}

var formFormats = map[string]bool{"date": true, "date-time": true, "email": true, "uri": true}

// CapabilitiesFrom returns what the client of the request that ctx belongs to has declared; nothing outside of a request, or if it makes no sense.
func CapabilitiesFrom(ctx context.Context) mcp.ClientCapabilities {
	if r := requestFrom(ctx); r != nil {
		can, _ := r.era.clientCapabilities()
		return can
	}
	return mcp.ClientCapabilities{}
}

// Ping asks a legacy client whether it is there, and blocks until it says so or ctx ends (2025-11-25, basic/utilities/ping). A modern client cannot be asked: the
// error is [ErrNoRequest], as it is outside of a request.
func Ping(ctx context.Context) error {
	r := requestFrom(ctx)
	if r == nil || r.era.modern {
		return ErrNoRequest
	}
	return r.link.Call(ctx, mcp.MethodPing, nil, nil)
}
