package mrtr

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/params"
)

// traceparents matches the values that may be sent. The values of all versions begin like those of
// the first (W3C Trace Context, traceparent Header).
var traceparents = lazyregexp.New(
	`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[^"\\]*)?"$`)

// Traced returns a question with the trace context of the _meta of its request. It returns the
// question unchanged if it has a trace context of its own, or if the client's is invalid.
func Traced(question mcp.InputRequest, of *params.Meta) mcp.InputRequest {
	if !traceparents().Match(of.Traceparent) {
		return question
	}
	var own struct {
		Meta  mcp.Meta  `json:"_meta,omitzero"`
		Extra mcp.Extra `json:"-" unknown:"keep"`
	}
	if question.Params != nil && mcp.Unmarshal(question.Params, &own) != nil {
		return question
	}
	if _, has := own.Meta[mcp.MetaTraceparent]; has {
		return question
	}
	for key, raw := range map[string][]byte{mcp.MetaTraceparent: of.Traceparent,
		mcp.MetaTracestate: of.Tracestate, mcp.MetaBaggage: of.Baggage} {
		if len(raw) > 0 && raw[0] == '"' && own.Meta.Set(key, json.RawMessage(raw)) != nil {
			return question
		}
	}
	if text, err := mcp.Marshal(&own); err == nil {
		question.Params = text
	}
	return question
}
