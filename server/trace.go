package server

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Trace is the trace context that a client sends with a request: values of W3C Trace Context and
// Baggage (2026-07-28, basic, _meta). They are not parsed and must not be trusted.
type Trace struct{ Traceparent, Tracestate, Baggage string }

// TraceFrom returns the trace context of the request that ctx belongs to, or the zero value.
// Requests to the client carry it automatically.
func TraceFrom(ctx context.Context) Trace {
	r := requestFrom(ctx)
	if r == nil {
		return Trace{}
	}
	text := func(raw []byte) string {
		text, _ := jsonscan.Text(raw)
		return text
	}
	return Trace{text(r.meta.traceparent), text(r.meta.tracestate), text(r.meta.baggage)}
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
