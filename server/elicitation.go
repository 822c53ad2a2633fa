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
