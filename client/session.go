package client

import (
	"encoding/json"
	"time"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A session holds the results of the handshake.
type session struct {
	revision     mcp.Revision
	features     mcp.Features
	info         mcp.Implementation
	capabilities mcp.ServerCapabilities
	instructions string
	handshake    Handshake
}

// modernSession returns the session of a server that answered server/discover.
func modernSession(revision mcp.Revision, found *mcp.DiscoverResult) *session {
	s := &session{revision: revision, capabilities: found.Capabilities,
		instructions: found.Instructions}
	s.features, _ = mcp.FeaturesOf(revision)
	var info mcp.Implementation // optional, for display only
	if _, err := found.Meta.Get(mcp.MetaServerInfo, &info); err == nil {
		s.info = info
	}
	return s
}

// legacySession checks the result of initialize (2025-11-25, Lifecycle, "Version Negotiation").
func legacySession(result []byte) (*session, error) {
	var r mcp.InitializeResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		return nil, errtext.Protocol("an invalid result of initialize: %v", err)
	}
	if mcp.EraOf(r.ProtocolVersion) != mcp.Legacy {
		return nil, errtext.Protocol(
			"the server answers initialize with revision %.100q; this client speaks %q there",
			string(r.ProtocolVersion), mcp.Supported(mcp.Legacy))
	}
	s := &session{revision: r.ProtocolVersion, info: r.ServerInfo, capabilities: r.Capabilities,
		instructions: r.Instructions}
	s.features, _ = mcp.FeaturesOf(s.revision)
	return s, nil
}

// A Handshake describes the handshake of a connection.
type Handshake struct {
	Method string // server/discover or initialize
	// from the first request to the response, including the start of the process
	Took   time.Duration
	Result json.RawMessage // as the server wrote it
}

// requestMeta is the common part of _meta of all requests of a modern connection. For a legacy one
// it is zero.
type requestMeta struct {
	members []byte // of a JSON object, without its braces
	level   []byte // the encoded log level, which a call may replace; nil for none
}

// newRequestMeta returns the _meta that a revision requires (2026-07-28, Base Protocol, "_meta").
func newRequestMeta(revision mcp.Revision, level mcp.LoggingLevel, o *Options) *requestMeta {
	m := new(requestMeta)
	if mcp.EraOf(revision) != mcp.Modern {
		return m
	}
	m.members = jsonscan.AppendString([]byte(`"`+mcp.MetaProtocolVersion+`":`), string(revision))
	add := func(key string, value any) {
		text, _ := mcp.Marshal(value) // cannot fail: withDefaults has encoded it
		m.members = append(append(m.members, `,"`+key+`":`...), text...)
	}
	add(mcp.MetaClientInfo, o.Info)
	can := o.Capabilities()
	if can.Roots != nil {
		can.Roots = new(mcp.ListCapability) // a modern client sends no change notifications
	}
	if can.Extensions == nil {
		can.Extensions = make(map[string]json.RawMessage, 1)
	}
	can.Extensions[mcp.ExtensionTasks] = json.RawMessage(`{}`) // of modern revisions only
	add(mcp.MetaClientCapabilities, can)
	if level != "" {
		m.level = jsonscan.AppendString(nil, string(level))
	}
	return m
}
