package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/rpc/mcp"
)

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
