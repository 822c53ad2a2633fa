package server

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Trace is the trace that a request belongs to, as the client says: values of W3C Trace Context and Baggage, not looked into (2026-07-28, basic, _meta). It is an
// untrusted client's word.
type Trace struct{ Traceparent, Tracestate, Baggage string }

// TraceFrom returns the trace of the request that ctx belongs to; empty if there is none. What the server asks the client meanwhile carries it by itself.
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

// traceparents are those that may be passed on; all versions begin as the first (W3C Trace Context, traceparent Header).
var traceparents = regexp.MustCompile(`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[^"\\]*)?"$`)

// traced returns a question that carries the request's trace, unless it has one of its own, or what the client says is none.
func (r *request) traced(question mcp.InputRequest) mcp.InputRequest {
	if !traceparents.Match(r.meta.traceparent) {
		return question
	}
	var params struct {
		Meta  mcp.Meta  `json:"_meta,omitzero"`
		Extra mcp.Extra `json:"-"`
	}
	if question.Params != nil && mcp.Unmarshal(question.Params, &params) != nil {
		return question
	}
	if _, own := params.Meta[mcp.MetaTraceparent]; own {
		return question
	}
	for key, raw := range map[string][]byte{mcp.MetaTraceparent: r.meta.traceparent, mcp.MetaTracestate: r.meta.tracestate, mcp.MetaBaggage: r.meta.baggage} {
		if len(raw) > 0 && raw[0] == '"' && params.Meta.Set(key, json.RawMessage(raw)) != nil {
			return question
		}
	}
	if text, err := mcp.Marshal(&params); err == nil {
		question.Params = text
	}
	return question
}
