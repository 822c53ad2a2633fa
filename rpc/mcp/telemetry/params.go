package telemetry

import (
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// params are the parts of the params of a message that are recorded. They are slices of the
// message.
type params struct {
	target                  []byte // a token; nil if absent
	meta                    []byte // an object; nil if absent
	metaAt                  int    // where meta begins in the params
	noObject                bool   // _meta is present, but not an object
	traceparent, tracestate []byte // tokens
	version                 []byte // a token: the revision of a modern request
}

// find finds the recorded parts of params that a server has read already; name is as for
// readParams.
func (p *params) find(members requestParams, name string) {
	if name != "" {
		p.target = members.Param(name)
	}
	p.traceparent = members.MetaValue(mcp.MetaTraceparent)
	p.tracestate = members.MetaValue(mcp.MetaTracestate)
	p.version = members.MetaValue(mcp.MetaProtocolVersion)
}

// readParams finds the recorded parts of params; name is the parameter with the target, or "". It
// ignores duplicate members, because the handler of the message refuses them.
func readParams(raw json.RawMessage, name string) (p params) {
	foundName, foundMeta := name == "", false
	for token, value := range jsonscan.Members(raw) {
		switch {
		case !foundName && jsonscan.KeyIs(token, name):
			p.target, foundName = value, true
		case !foundMeta && jsonscan.KeyIs(token, "_meta"):
			if foundMeta = true; value[0] == '{' {
				p.meta, p.metaAt = value, jsonscan.Offset(raw, value)
			} else {
				p.noObject = true
			}
		}
		if foundName && foundMeta {
			break // arguments that follow may be long
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
			c.State, _ = parseTracestate(string(state))
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

// inject returns params with the trace context c added to _meta. It returns params unchanged if
// they are neither absent nor an object, or if their _meta is not an object: the other side refuses
// such params.
func inject(raw json.RawMessage, p *params, c *SpanContext) json.RawMessage {
	at := jsonscan.Space(raw, 0)
	if p.noObject || len(raw) > 0 && raw[at] != '{' {
		return raw
	}
	room := len(raw) + len(`{"_meta":{"traceparent":"","tracestate":""},}`) + traceparentLen +
		len(c.State) + 2
	if len(raw) == 0 {
		return append(appendTrace(append(make([]byte, 0, room), `{"_meta":{`...), c), "}}"...)
	}
	if p.meta == nil {
		out := append(make([]byte, 0, room), `{"_meta":{`...)
		out = append(appendTrace(out, c), '}')
		return appendRest(out, raw[at+1:])
	}
	out := append(make([]byte, 0, room), raw[:p.metaAt+1]...)
	out = appendTrace(out, c)
	if p.traceparent == nil && p.tracestate == nil {
		return appendRest(out, raw[p.metaAt+1:])
	}
	for token, value := range jsonscan.Members(p.meta) {
		if !jsonscan.KeyIs(token, mcp.MetaTraceparent) &&
			!jsonscan.KeyIs(token, mcp.MetaTracestate) {
			out = append(append(append(append(out, ','), token...), ':'), value...)
		}
	}
	return append(append(out, '}'), raw[p.metaAt+len(p.meta):]...)
}

// appendRest appends the rest of an object to the members that were added at its beginning.
func appendRest(dst, rest []byte) []byte {
	if rest[jsonscan.Space(rest, 0)] != '}' {
		dst = append(dst, ',')
	}
	return append(dst, rest...)
}

func appendTrace(dst []byte, c *SpanContext) []byte {
	dst = append(dst, `"traceparent":"`...)
	dst = append(c.appendTraceparent(dst), '"')
	if c.State != "" {
		dst = append(dst, `,"tracestate":`...)
		dst = jsonscan.AppendString(dst, c.State)
	}
	return dst
}

// isMethod reports whether any revision of MCP has a method with this name.
func isMethod(name string) bool {
	return slices.ContainsFunc(revisions, func(r mcp.Revision) bool {
		_, has := mcp.MethodAt(name, r)
		return has
	})
}
