package server

import (
	"bytes"
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An era holds the revision of a request's client, and the client's capabilities. A modern client
// sends them with the request; a legacy client sends them with initialize, and all later requests
// share the value.
type era struct {
	modern            bool
	revision          mcp.Revision
	structuredContent bool            // the revision has structuredContent
	capabilities      json.RawMessage // of the client, as it sent them
	replicated        bool            // see [Integration.NewReplicatedConn]
	stateless         bool            // see [Integration.StatelessLegacy]
	client            string          // see [Conn.ClientName]
}

// uninitialized is the era of a legacy client before initialize.
var uninitialized = era{revision: mcp.LatestLegacy}

// classify returns the era of a request. It depends only on the request and on agreed, the era of
// the handshake, which is nil without a handshake (2026-07-28, basic/versioning, Backward
// Compatibility). A request with a revision in its _meta is modern, even after a legacy handshake.
func classify(r *request, agreed *era) (*era, error) {
	m := &r.meta
	switch {
	case m.version != nil || m.capabilities != nil || r.Method == mcp.MethodDiscover:
		return modernEra(m)
	case r.Method == mcp.MethodInitialize || r.Method == mcp.MethodPing:
		return legacyEra(agreed), nil
	case agreed != nil:
		return agreed, nil
	}
	return nil, rpc.Errorf(rpc.CodeInvalidParams,
		"Invalid params: send initialize first, or set %q and %q in the _meta of each request",
		mcp.MetaProtocolVersion, mcp.MetaClientCapabilities)
}

func legacyEra(agreed *era) *era {
	if agreed != nil {
		return agreed
	}
	return &uninitialized
}

func modernEra(m *meta) (*era, error) {
	version, isText := jsonscan.Unquote(m.version)
	switch {
	case !isText:
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is required and must be a string", mcp.MetaProtocolVersion)
	case mcp.Revision(version) != mcp.Latest:
		return nil, unsupportedVersion(string(version))
	case len(m.capabilities) == 0 || m.capabilities[0] != '{':
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is required and must be an object", mcp.MetaClientCapabilities)
	}
	return &era{modern: true, revision: mcp.Latest, structuredContent: true,
		capabilities: m.capabilities}, nil
}

// unsupportedVersion returns the error for a revision in _meta that the server does not support.
// Its list omits the legacy revisions, because they need initialize.
func unsupportedVersion(requested string) error {
	data, _ := json.Marshal(
		mcp.UnsupportedProtocolVersionData{Supported: []string{string(mcp.Latest)},
			Requested: requested})
	return &rpc.Error{Code: mcp.CodeUnsupportedProtocolVersion,
		Message: "Unsupported protocol version", Data: data}
}

// replicatedEra returns the era of a legacy client of which only the revision is known.
func replicatedEra(revision mcp.Revision) (e *era, ok bool) {
	features, ok := mcp.FeaturesOf(revision)
	return &era{revision: revision, structuredContent: features.StructuredOutput, replicated: true},
		ok && mcp.EraOf(revision) == mcp.Legacy
}

// errReplicated is the error for a request that a replicated connection cannot serve.
var errReplicated = rpc.Errorf(rpc.CodeInvalidRequest,
	"Invalid Request: servers that share their sessions, or have none, cannot do this for clients before %s",
	mcp.Latest)

func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// allowsStructured reports whether the era supports this structured content.
func (e *era) allowsStructured(content []byte) bool {
	f, _ := mcp.FeaturesOf(e.revision)
	return e.structuredContent && (f.AnyStructuredOutput || isObject(content))
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
