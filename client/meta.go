package client

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// requestMeta is what goes into the _meta of every request of a modern connection. The zero value is that of a legacy one: nothing.
type requestMeta struct {
	members []byte // of a JSON object, without its braces
	level   []byte // the log level, encoded, which a call may replace; nil if none is asked for
}

// ownMeta are the members that a call cannot replace.
var ownMeta = []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaProgressToken}

// newRequestMeta returns what a revision wants in each request (2026-07-28, Base Protocol, "_meta").
func newRequestMeta(revision mcp.Revision, level mcp.LoggingLevel, o *Options) *requestMeta {
	m := new(requestMeta)
	if mcp.EraOf(revision) != mcp.Modern {
		return m
	}
	m.members = jsonscan.AppendString([]byte(`"`+mcp.MetaProtocolVersion+`":`), string(revision))
	m.members, _ = mcp.Append(append(m.members, `,"`+mcp.MetaClientInfo+`":`...), o.Info) // withDefaults has tried it
	can := o.Capabilities()
	if can.Roots != nil {
		can.Roots = new(mcp.RootsCapability) // nobody hears of changes in this era
	}
	can.Extensions = map[string]json.RawMessage{mcp.ExtensionTasks: json.RawMessage(`{}`)}
	m.members, _ = mcp.Append(append(m.members, `,"`+mcp.MetaClientCapabilities+`":`...), can)
	if level != "" {
		m.level = jsonscan.AppendString(nil, string(level))
	}
	return m
}
