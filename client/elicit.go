package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// elicit handles elicitation/create with Options.OnElicit (2026-07-28, Elicitation).
func (c *Client) elicit(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var params mcp.ElicitParams
	if err := mcp.Unmarshal(raw, &params); err != nil {
		return nil, invalidInputRequestf("%v", err)
	}
	if params.Mode == "" {
		params.Mode = mcp.ElicitForm
	}
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
		c.urlElicitations.markRequested(params.ElicitationID)
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
	if err := mcp.CheckElicitSchema(text); err != nil {
		return nil, err
	}
	return schema.Compile(bytes.Clone(text), schema.AssertFormats())
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
