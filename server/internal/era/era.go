// Package era finds out the era and revision of the client of a request, and what they allow.
package era

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/params"
)

// An Era holds the revision of a request's client, and the client's capabilities. A modern client
// sends them with the request; a legacy client sends them with initialize, and all later requests
// share the value.
type Era struct {
	Modern            bool
	Revision          mcp.Revision
	StructuredContent bool            // the revision has structuredContent
	Capabilities      json.RawMessage // of the client, as it sent them
	Replicated        bool            // see SessionCarried of package server
	Stateless         bool            // see Stateless of package server
	NoTasks           bool            // of 2025-11-25; see SessionShared
	Client            ClientInfo
}

// uninitialized is the era of a legacy client before initialize.
var uninitialized = Era{Revision: mcp.LatestLegacy}

// Classify returns the era of a request with this method and _meta. It depends only on these and on
// agreed, the era of the handshake, which is nil without a handshake (2026-07-28, basic/versioning,
// Backward Compatibility). A request with a revision in its _meta is modern, even after a legacy
// handshake.
func Classify(method string, m *params.Meta, agreed *Era) (*Era, error) {
	switch {
	case IsModern(method, m.Version, m.Capabilities):
		return Modern(m)
	case method == mcp.MethodInitialize || method == mcp.MethodPing:
		return Legacy(agreed), nil
	case agreed != nil:
		return agreed, nil
	}
	return nil, rpc.Errorf(rpc.CodeInvalidParams,
		"Invalid params: send initialize first, or set %q and %q in the _meta of each request",
		mcp.MetaProtocolVersion, mcp.MetaClientCapabilities)
}

// IsModern reports whether a message with this method and these members of its _meta, which are nil
// if absent, is of the modern era.
func IsModern(method string, version, capabilities json.RawMessage) bool {
	return version != nil || capabilities != nil || method == mcp.MethodDiscover
}

// Legacy returns agreed, or the era of a legacy client before initialize.
func Legacy(agreed *Era) *Era {
	if agreed != nil {
		return agreed
	}
	return &uninitialized
}

// Modern returns the era of a request with this _meta, which it points into.
func Modern(m *params.Meta) (*Era, error) {
	version, isText := jsonscan.Unquote(m.Version)
	switch {
	case !isText:
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is required and must be a string", mcp.MetaProtocolVersion)
	case mcp.Revision(version) != mcp.Latest:
		return nil, unsupportedVersion(string(version))
	case len(m.Capabilities) == 0 || m.Capabilities[0] != '{':
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: _meta[%q] is required and must be an object", mcp.MetaClientCapabilities)
	}
	return &Era{Modern: true, Revision: mcp.Latest, StructuredContent: true,
		Capabilities: m.Capabilities}, nil
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

// Replicated returns the era of a legacy client of which only the revision is known.
func Replicated(revision mcp.Revision) (e *Era, ok bool) {
	features, ok := mcp.FeaturesOf(revision)
	return &Era{Revision: revision, StructuredContent: features.StructuredOutput, Replicated: true},
		ok && mcp.EraOf(revision) == mcp.Legacy
}

// AllowsStructured reports whether the era supports this structured content.
func (e *Era) AllowsStructured(content []byte) bool {
	f, _ := mcp.FeaturesOf(e.Revision)
	return e.StructuredContent && (f.AnyStructuredOutput ||
		bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")))
}

// ClientCapabilities decodes the client's capabilities.
func (e *Era) ClientCapabilities() (mcp.ClientCapabilities, error) {
	if len(e.Capabilities) <= len("{}") { // as of many clients
		return mcp.ClientCapabilities{}, nil
	}
	var can mcp.ClientCapabilities
	if err := mcp.Unmarshal(e.Capabilities, &can); err != nil {
		return can, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: the client's capabilities: %v", err)
	}
	return can, nil
}

// SupportsElicitation reports whether the client declares elicitation in that mode.
func (e *Era) SupportsElicitation(mode string) bool {
	f, _ := mcp.FeaturesOf(e.Revision)
	can, err := e.ClientCapabilities()
	switch {
	case err != nil || !f.Elicitation:
		return false
	case mode == mcp.ElicitURL:
		return f.URLElicitation && can.Elicitation.SupportsURL()
	}
	return can.Elicitation.SupportsForm()
}

// ExperimentalTasks reports whether tasks of 2025-11-25 are available. A connection whose next
// request may reach a server on which the task does not run has none.
func (e *Era) ExperimentalTasks() bool {
	f, _ := mcp.FeaturesOf(e.Revision)
	return f.ExperimentalTasks && !e.Replicated && !e.NoTasks
}

// Extension returns the settings of an extension that the client declares, which are part of
// Capabilities. It reports false if the extension is not declared, or if its settings are not an
// object: such a declaration is invalid and is ignored.
func (e *Era) Extension(id string) (settings json.RawMessage, declared bool) {
	settings = jsonscan.Member(jsonscan.Member(e.Capabilities, "extensions"), id)
	return settings, len(settings) > 0 && settings[0] == '{'
}

// A ClientInfo is what a client says of its program, each text cut after 128 bytes.
type ClientInfo struct{ Name, Version string }

// ReadClientInfo returns a copy of what a clientInfo says, which may be missing.
func ReadClientInfo(sent json.RawMessage) ClientInfo {
	text := func(name string) string {
		value, _ := jsonscan.Text(jsonscan.Member(sent, name))
		return strings.Clone(printable.TruncateBytes(value, 128))
	}
	return ClientInfo{text("name"), text("version")}
}

// Negotiate returns the revision with which a server answers an initialize request: the requested
// one if it is a known legacy revision, else [mcp.LatestLegacy]. A modern revision cannot be
// negotiated by initialize (MCP 2025-11-25, Lifecycle, "Version Negotiation").
func Negotiate(requested string) mcp.Revision {
	if r := mcp.Revision(requested); mcp.EraOf(r) == mcp.Legacy {
		return r
	}
	return mcp.LatestLegacy
}
