package streamable

import (
	"encoding/json"
	"net/http"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/internal/era"
)

// A messageMeta has the parts of a message that determine its era or that headers must repeat. Its
// slices belong to the message.
type messageMeta struct {
	version   []byte // in _meta; nil: absent or not a string
	complete  bool   // _meta has every member that a modern request requires
	modern    bool   // see era.IsModern
	arguments []byte
	subject   []byte // params.name, uri or taskId; nil: absent or not a string
}

// readMessageMeta scans the params of a message. It ignores errors in them, which the server
// reports.
func readMessageMeta(m *rpc.Message) (h messageMeta) {
	method, _ := mcp.MethodAt(m.Method, mcp.Latest)
	subject := method.NameParam
	var version, capabilities json.RawMessage
	for token, value := range jsonscan.Members(m.Params) {
		switch {
		case jsonscan.KeyIs(token, "_meta"):
			for token, value := range jsonscan.Members(value) {
				switch {
				case jsonscan.KeyIs(token, mcp.MetaProtocolVersion):
					version = value
				case jsonscan.KeyIs(token, mcp.MetaClientCapabilities):
					capabilities = value
				}
			}
		case jsonscan.KeyIs(token, "arguments"):
			h.arguments = value
		case subject != "" && jsonscan.KeyIs(token, subject):
			h.subject, _ = jsonscan.Unquote(value)
		}
	}
	h.version, _ = jsonscan.Unquote(version)
	h.complete = h.version != nil && len(capabilities) > 0 && capabilities[0] == '{'
	h.modern = era.IsModern(m.Method, version, capabilities)
	return h
}

// isModern reports whether a message is of the modern era. Its header decides if its body does not,
// so that a modern client reads what its body lacks.
func (x *exchange) isModern(h *messageMeta) bool {
	return h.modern ||
		mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern
}

// checkHeaders compares the headers of a modern request with its body (2026-07-28,
// basic/transports/streamable-http, Server Validation). It does not compare headers with a body
// that lacks required members, which s reports.
func (x *exchange) checkHeaders(s *server.Server, m *rpc.Message, h *messageMeta) *refusal {
	mismatch := func(format string, args ...any) *refusal {
		return newRefusal(http.StatusBadRequest, mcp.CodeHeaderMismatch, "Header mismatch: "+format,
			args...).forID(m.ID)
	}
	if h.version == nil {
		return nil
	}
	// no header is required of a notification, but those present must match
	optional := m.ID.IsZero()
	if why := x.headerMismatch(mcp.HeaderProtocolVersion, h.version, optional); why != "" {
		return mismatch("%s %s", mcp.HeaderProtocolVersion, why)
	}
	if mcp.Revision(h.version) != mcp.Latest || !h.complete && !optional {
		return nil // another revision may have other headers
	}
	if why := x.headerMismatch(mcp.HeaderMethod, []byte(m.Method), optional); why != "" {
		return mismatch("%s %s", mcp.HeaderMethod, why)
	}
	// The tasks extension has the header but does not require it.
	method, _ := mcp.MethodAt(m.Method, mcp.Latest)
	if method.NameParam == "" || h.subject == nil ||
		method.Extension == mcp.ExtensionTasks && len(x.r.Header[mcp.HeaderName]) == 0 {
		return nil
	}
	if why := x.encodedHeaderMismatch(mcp.HeaderName, h.subject); why != "" {
		return mismatch("%s %s", mcp.HeaderName, why)
	}
	if m.Method != mcp.MethodCallTool {
		return nil
	}
	err := s.Integration().CheckToolHeaders(x.r.Context(), string(h.subject),
		m.Params, x.r.Header.Values)
	if err != nil {
		return mismatch("%v", err)
	}
	return nil
}

// headerMismatch returns how a header differs from the value that it must have, or "".
func (x *exchange) headerMismatch(name string, want []byte, optional bool) string {
	values := x.r.Header[name]
	switch {
	case len(values) == 0 && optional:
		return ""
	case len(values) == 0:
		return "is missing"
	case len(values) > 1:
		return "occurs more than once"
	case values[0] != string(want):
		return "does not match the body"
	}
	return ""
}

// encodedHeaderMismatch is headerMismatch for a header that may be encoded in base64.
func (x *exchange) encodedHeaderMismatch(name string, want []byte) string {
	values := x.r.Header[name]
	if len(values) != 1 {
		return x.headerMismatch(name, want, false)
	}
	got, err := paramheader.Decode(values[0])
	switch {
	case err != nil:
		return err.Error()
	case got != string(want):
		return "does not match the body"
	}
	return ""
}
