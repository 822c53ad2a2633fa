package telemetry

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// params are the parts of the params of a message that are recorded. They are slices of the
// message.
type params struct {
	target                  []byte // a token; nil if absent
	meta                    []byte // an object; nil if absent
	traceparent, tracestate []byte // tokens
	version                 []byte // a token: the revision of a modern request
}

// readParams finds what is recorded; name is the parameter with the target, or "".
func readParams(raw json.RawMessage, name string) (p params) {
	for token, value := range jsonscan.Members(raw) {
		switch {
		case name != "" && jsonscan.KeyIs(token, name):
			p.target = value
		case jsonscan.KeyIs(token, "_meta") && value[0] == '{':
			p.meta = value
		}
	}
	for token, value := range jsonscan.Members(p.meta) {
		switch {
		case jsonscan.KeyIs(token, mcp.MetaTraceparent):
			p.traceparent = value
		case jsonscan.KeyIs(token, mcp.MetaTracestate):
			p.tracestate = value
		case jsonscan.KeyIs(token, mcp.MetaProtocolVersion):
			p.version = value
		}
	}
	return p
}

// parent returns the span context that the message carries; an invalid one if there is none.
func (p *params) parent() SpanContext {
	text, ok := jsonscan.Unquote(p.traceparent)
	if !ok {
		return SpanContext{}
	}
	c, err := parseTraceparent(text)
	if err != nil {
		return SpanContext{}
	}
	if len(p.tracestate) <= 6*maxTracestate { // each byte may be escaped
		if state, ok := jsonscan.Unquote(p.tracestate); ok {
			c.State, _ = ParseTracestate(string(state))
		}
	}
	return c
}

// revision returns the revision that the message names, if it is a known one.
func (p *params) revision() mcp.Revision {
	if text, ok := jsonscan.Unquote(p.version); ok {
		for _, known := range revisions {
			if string(known) == string(text) {
				return known
			}
		}
	}
	return ""
}

var revisions = mcp.Supported()

// inject returns params whose _meta carries the trace context c, and otherwise what it had. Params
// that are neither absent nor an object are returned unchanged.
func inject(raw json.RawMessage, p *params, c SpanContext) json.RawMessage {
	at := jsonscan.Space(raw, 0)
	if len(raw) > 0 && raw[at] != '{' {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(`{"_meta":{"traceparent":"","tracestate":""}}`)+
		traceparentLen+len(c.State)+2)
	if p.meta == nil {
		out = append(out, `{"_meta":{`...)
		out = append(appendTrace(out, c), '}')
		for token, value := range jsonscan.Members(raw) {
			if jsonscan.KeyIs(token, "_meta") {
				return raw // a _meta that is not an object: the other side refuses it
			}
			out = appendMember(out, token, value)
		}
		return append(out, '}')
	}
	out = append(out, '{')
	for token, value := range jsonscan.Members(raw) {
		if !jsonscan.KeyIs(token, "_meta") {
			out = appendMember(out, token, value)
			continue
		}
		out = append(appendComma(out), `"_meta":{`...)
		out = appendTrace(out, c)
		for token, value := range jsonscan.Members(value) {
			if !jsonscan.KeyIs(token, mcp.MetaTraceparent) &&
				!jsonscan.KeyIs(token, mcp.MetaTracestate) {
				out = appendMember(out, token, value)
			}
		}
		out = append(out, '}')
	}
	return append(out, '}')
}

func appendTrace(dst []byte, c SpanContext) []byte {
	dst = append(dst, `"traceparent":"`...)
	dst = append(c.appendTraceparent(dst), '"')
	if c.State != "" {
		dst = append(dst, `,"tracestate":`...)
		dst = jsonscan.AppendString(dst, c.State)
	}
	return dst
}

func appendMember(dst, token, value []byte) []byte {
	dst = append(appendComma(dst), token...)
	return append(append(dst, ':'), value...)
}

func appendComma(dst []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return dst
}
