// Package questions checks what a server asks its client: elicitations and samplings.
package questions

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/elicitschema"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ElicitMode returns the mode of an elicitation. A URL without a mode means URL mode. It returns an
// error if a member is set that the mode does not have, so that none is dropped silently.
func ElicitMode(p *mcp.ElicitParams) (string, error) {
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

// PrepareElicitation changes the params of an elicitation to those of a revision, and returns the
// compiled schema of the form, nil if there is none.
func PrepareElicitation(p *mcp.ElicitParams, revision mcp.Revision) (*schema.Schema, error) {
	f, _ := mcp.FeaturesOf(revision)
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
	form, err := elicitschema.Parse(text)
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
		err = elicitschema.Check(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the schema of the form: %w", err)
	}
	return schema.Options{AssertFormats: true}.Compile(text)
}

var formFormats = map[string]bool{"date": true, "date-time": true, "email": true, "uri": true}
