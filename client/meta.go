package client

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// requestMeta is the common part of _meta of all requests of a modern connection. For a legacy one
// it is zero.
type requestMeta struct {
	members []byte // of a JSON object, without its braces
	level   []byte // the encoded log level, which a call may replace; nil for none
}

// ownMeta are the members that a call cannot replace.
var ownMeta = []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities,
	mcp.MetaProgressToken}

// newRequestMeta returns the _meta that a revision requires (2026-07-28, Base Protocol, "_meta").
func newRequestMeta(revision mcp.Revision, level mcp.LoggingLevel, o *Options) *requestMeta {
	m := new(requestMeta)
	if mcp.EraOf(revision) != mcp.Modern {
		return m
	}
	m.members = jsonscan.AppendString([]byte(`"`+mcp.MetaProtocolVersion+`":`), string(revision))
	// cannot fail: withDefaults has encoded it
	m.members, _ = mcp.Append(append(m.members, `,"`+mcp.MetaClientInfo+`":`...), o.Info)
	can := o.Capabilities()
	if can.Roots != nil {
		can.Roots = new(mcp.RootsCapability) // a modern client sends no change notifications
	}
	if can.Extensions == nil {
		can.Extensions = make(map[string]json.RawMessage, 1)
	}
	can.Extensions[mcp.ExtensionTasks] = json.RawMessage(`{}`) // of modern revisions only
	m.members, _ = mcp.Append(append(m.members, `,"`+mcp.MetaClientCapabilities+`":`...), can)
	if level != "" {
		m.level = jsonscan.AppendString(nil, string(level))
	}
	return m
}
