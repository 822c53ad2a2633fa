// Package params finds the members of the params of a request, and of their _meta, once.
package params

import (
	"bytes"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const maxMembers = 12 // of the params; the protocol defines fewer

// Params are the members of params. Its slices point into them.
type Params struct {
	Meta    Meta
	members []member
	buf     [3]member // as many as a tool call has
}

type member struct{ name, value []byte }

// Meta holds the members of _meta that the protocol defines. A nil slice means that the member is
// missing.
type Meta struct {
	Version, Capabilities, LogLevel, ProgressToken []byte
	Traceparent, Tracestate, Baggage, App          []byte
}

var nameMeta = []byte("_meta")

// Read finds the members of params, a JSON value. It refuses duplicates.
func (p *Params) Read(params []byte) error {
	if len(params) > 0 && params[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: MCP requires an object")
	}
	p.members = p.buf[:0]
	for token, value := range jsonscan.Members(params) {
		name, _ := jsonscan.Unquote(token)
		if p.Get(name) != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %.100q occurs twice", name)
		}
		if len(p.members) == maxMembers {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: more than %d members",
				maxMembers)
		}
		p.members = append(p.members, member{name, value})
	}
	return p.Meta.read(p.Get(nameMeta))
}

// Get returns the value of a member of params, or nil.
func (p *Params) Get(name []byte) []byte {
	for i := range p.members {
		if bytes.Equal(p.members[i].name, name) {
			return p.members[i].value
		}
	}
	return nil
}

// Text returns a member of params that must be a string, or nil if it is missing.
func (p *Params) Text(name []byte) ([]byte, error) {
	value := p.Get(name)
	if value == nil {
		return nil, nil
	}
	text, ok := jsonscan.Unquote(value)
	if !ok {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: %s must be a string", name)
	}
	return text, nil
}

// Member returns where to store the value of a key, or nil if the protocol does not define the key.
func (m *Meta) Member(key []byte) *[]byte {
	switch string(key) {
	case mcp.MetaProtocolVersion:
		return &m.Version
	case mcp.MetaClientCapabilities:
		return &m.Capabilities
	case mcp.MetaLogLevel:
		return &m.LogLevel
	case mcp.MetaProgressToken:
		return &m.ProgressToken
	case mcp.MetaTraceparent:
		return &m.Traceparent
	case mcp.MetaTracestate:
		return &m.Tracestate
	case mcp.MetaBaggage:
		return &m.Baggage
	case mcp.MetaApp:
		return &m.App
	}
	return nil
}

func (m *Meta) read(raw []byte) error {
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: _meta must be an object")
	}
	for token, value := range jsonscan.Members(raw) {
		name, _ := jsonscan.Unquote(token)
		slot := m.Member(name)
		if slot == nil {
			continue
		}
		if *slot != nil {
			return rpc.Errorf(rpc.CodeInvalidParams, "Invalid params: _meta has %q twice", name)
		}
		*slot = value
	}
	if t := m.ProgressToken; t != nil && t[0] != '"' && t[0] != '-' && (t[0] < '0' || t[0] > '9') {
		return rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: the progress token must be a string or an integer")
	}
	return nil
}
