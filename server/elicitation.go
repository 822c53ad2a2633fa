package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc/mcp"
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
// key names the question within its request. The key "confirm_operation" is reserved. A question
// with the same key and the same params is asked once, even if the handler runs again because its
// call had to be confirmed; if the params change, it is asked again. To ask several questions in
// one round, make all the calls and join their errors.
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
	if params.Mode, err = elicitMode(&params); err != nil {
		return nil, fmt.Errorf("server: Elicit %q: %w", key, err)
	}
	if err := r.requireElicitation(params.Mode); err != nil {
		return nil, err
	}
	form, err := r.era.prepareElicitation(&params)
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

// elicitMode returns the mode of an elicitation. A URL without a mode means URL mode. It returns an
// error if a member is set that the mode does not have, so that none is dropped silently.
func elicitMode(p *mcp.ElicitParams) (string, error) {
	form := p.Mode == mcp.ElicitForm || p.Mode == "" && p.URL == ""
	switch {
	case p.URL != "" && p.RequestedSchema != nil:
		return "", errors.New("it has a URL and the RequestedSchema of a form: set one of them")
	case form && p.URL != "":
		return "", errors.New("a form has no URL: leave it out, or set Mode to url")
	case form && p.ElicitationID != "":
		return "", errors.New("a form has no ElicitationID: leave it out, or set Mode to url")
	case p.Mode == mcp.ElicitURL && p.RequestedSchema != nil:
		return "", errors.New("a URL has no RequestedSchema: leave it out, or set Mode to form")
	case p.Mode == "" && !form:
		return mcp.ElicitURL, nil
	}
	return p.Mode, nil
}

// requireElicitation returns an error unless the client declares elicitation in that mode.
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

// supportsElicitation reports whether the client declares elicitation in that mode.
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

// prepareElicitation changes the params of an elicitation to those of the era, and returns the
// compiled schema of the form, nil if there is none.
func (e *era) prepareElicitation(p *mcp.ElicitParams) (*schema.Schema, error) {
	f, _ := mcp.FeaturesOf(e.revision)
	switch p.Mode {
	case "", mcp.ElicitForm:
		if p.RequestedSchema == nil {
			p.RequestedSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		return compileForm(p.RequestedSchema, f)
	case mcp.ElicitURL:
		if u, err := url.Parse(p.URL); err != nil || !u.IsAbs() || u.Host == "" && u.Opaque == "" {
			return nil, errors.New("the URL must be absolute")
		}
		if !f.ElicitationComplete {
			p.ElicitationID = ""
		} else if p.ElicitationID == "" {
			p.ElicitationID = rand.Text()
		}
		return nil, nil
	}
	return nil, fmt.Errorf("the mode %.50q is neither %s nor %s", p.Mode, mcp.ElicitForm,
		mcp.ElicitURL)
}

// compileForm compiles the schema of a form and checks that the client's revision allows it: an
// object of primitive values and enums (2026-07-28, client/elicitation, Requested Schema).
func compileForm(text json.RawMessage, f mcp.Features) (*schema.Schema, error) {
	var form mcp.ElicitSchema
	err := mcp.Unmarshal(text, &form)
	if err == nil && (form.Type != "object" || form.Properties == nil) {
		err = errors.New("it must have type object and properties")
	}
	for _, p := range form.Properties {
		switch s := p.Schema; {
		case s.Type == "string" && s.Format != "" && !formFormats[s.Format]:
			err = fmt.Errorf("%q: the format is none of date, date-time, email and uri", p.Name)
		case s.Type == "string", s.Type == "number", s.Type == "integer", s.Type == "boolean":
		case s.Type != "array" || s.Items == nil || s.Items.Enum == nil && s.Items.AnyOf == nil:
			err = fmt.Errorf("%q must be a string, number, integer or boolean, or an array of enum values", p.Name)
		case !f.EnumSchemas:
			err = fmt.Errorf("%q is a choice of several, which revision %s does not have", p.Name,
				f.Revision)
		}
	}
	if err == nil {
		err = mcp.CheckElicitSchema(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the form: %w", err)
	}
	return schema.Compile(text, schema.AssertFormats())
}

var formFormats = map[string]bool{"date": true, "date-time": true, "email": true, "uri": true}
