package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ErrNoRequest is the error of [Elicit], [Sample], [Roots] and [Once] if ctx does not belong to a
// tools/call, prompts/get or resources/read request. Only during these can the client be asked.
var ErrNoRequest = errors.New("server: the context is not that of a request whose client can be asked")

// ErrUnsupported matches the error of [Elicit], [Sample], [Roots] and [RequireInput] if the client
// does not declare the capability that the question needs. [CapabilitiesFrom] returns the client's
// capabilities.
var ErrUnsupported = errors.New("server: the client does not declare the capability")

// decodeInto returns a function for [request.ask] that decodes each answer into result.
func decodeInto[T any](result *T) func([]byte) error {
	return func(answer []byte) error {
		*result = *new(T)
		return mcp.Unmarshal(answer, result)
	}
}

// askableRequest returns the request that ctx belongs to. It fails if the client cannot be asked,
// or if the key is reserved.
func askableRequest(ctx context.Context, key string) (*request, error) {
	r := requestFrom(ctx)
	if r == nil {
		return nil, ErrNoRequest
	}
	method, _ := mcp.MethodAt(r.Method, r.era.revision)
	switch {
	case !method.RequestsInput:
		return nil, ErrNoRequest
	case key == keyConfirm:
		return nil, fmt.Errorf(
			"server: the key %q is reserved for the confirmation of a call; use another key",
			key)
	}
	return r, nil
}

// missingCapability stops the handler. It returns the error for a client that does not declare a
// capability.
func (r *request) missingCapability(name string, capabilities mcp.ClientCapabilities) error {
	failure := &rpc.Error{Code: rpc.CodeInvalidParams,
		Message: "the client does not declare the capability " + name}
	if r.era.modern {
		failure.Code = mcp.CodeMissingRequiredClientCapability
		failure.Data, _ = mcp.Marshal(
			mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: capabilities})
	}
	return r.stop(failure)
}

// clientCapabilities decodes the client's capabilities.
func (e *era) clientCapabilities() (can mcp.ClientCapabilities, err error) {
	if e.capabilities == nil {
		return can, nil
	}
	if err := mcp.Unmarshal(e.capabilities, &can); err != nil {
		return can, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: the client's capabilities: %v", err)
	}
	return can, nil
}

// traceparents matches the values that may be sent. The values of all versions begin like those of
// the first (W3C Trace Context, traceparent Header).
var traceparents = lazyregexp.New(
	`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[^"\\]*)?"$`)

// traced returns a question with the request's trace context. It returns the question unchanged if
// it has a trace context of its own, or if the client's is invalid.
func (r *request) traced(question mcp.InputRequest) mcp.InputRequest {
	if !traceparents().Match(r.meta.traceparent) {
		return question
	}
	var params struct {
		Meta  mcp.Meta  `json:"_meta,omitzero"`
		Extra mcp.Extra `json:"-" unknown:"keep"`
	}
	if question.Params != nil && mcp.Unmarshal(question.Params, &params) != nil {
		return question
	}
	if _, own := params.Meta[mcp.MetaTraceparent]; own {
		return question
	}
	for key, raw := range map[string][]byte{mcp.MetaTraceparent: r.meta.traceparent,
		mcp.MetaTracestate: r.meta.tracestate, mcp.MetaBaggage: r.meta.baggage} {
		if len(raw) > 0 && raw[0] == '"' && params.Meta.Set(key, json.RawMessage(raw)) != nil {
			return question
		}
	}
	if text, err := mcp.Marshal(&params); err == nil {
		question.Params = text
	}
	return question
}
