package streamable

import (
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// checkHeaders compares the headers of a modern request with its body (2026-07-28, basic/transports/streamable-http, Server Validation). A body that does not say what it
// must is not compared: the server says what is wrong with it.
func (x *httpRequest) checkHeaders(m *rpc.Message, h *messageMeta) *refusal {
	mismatch := func(format string, args ...any) *refusal {
		return newRefusal(http.StatusBadRequest, mcp.CodeHeaderMismatch, "Header mismatch: "+format, args...).forID(m.ID)
	}
	if h.version == nil {
		return nil
	}
	optional := m.ID.IsZero() // what headers a notification must have is not said, but those that it has say the truth
	if why := x.headerMismatch(mcp.HeaderProtocolVersion, h.version, optional); why != "" {
		return mismatch("%s %s", mcp.HeaderProtocolVersion, why)
	}
	if mcp.Revision(h.version) != mcp.Latest || !h.complete && !optional {
		return nil // another revision may have other headers
	}
	if why := x.headerMismatch(mcp.HeaderMethod, []byte(m.Method), optional); why != "" {
		return mismatch("%s %s", mcp.HeaderMethod, why)
	}
	subject, has := subjectParams[m.Method]
	if !has || h.subject == nil || !subject.required && len(x.r.Header[mcp.HeaderName]) == 0 {
		return nil
	}
	if why := x.encodedHeaderMismatch(mcp.HeaderName, h.subject); why != "" {
		return mismatch("%s %s", mcp.HeaderName, why)
	}
	if m.Method != mcp.MethodCallTool {
		return nil
	}
	for _, p := range x.Handler.server.HeaderParams(string(h.subject)) {
		values := x.r.Header[http.CanonicalHeaderKey(p.Header)]
		if len(values) > 1 {
			return mismatch("%s is there more than once", p.Header)
		}
		value := ""
		if len(values) > 0 {
			value = values[0]
		}
		if hasDuplicate(h.arguments, p.Path) {
			return mismatch("the argument %s is there more than once", strings.Join(p.Path, "."))
		}
		if err := p.Check(value, len(values) > 0, h.arguments); err != nil {
			return mismatch("%v", err)
		}
	}
	return nil
}

// hasDuplicate reports whether a member on a path is there more than once: another reader might take one that was not compared.
func hasDuplicate(object []byte, path []string) bool {
	for _, name := range path {
		var found []byte
		for token, value := range jsonscan.Members(object) {
			switch {
			case !jsonscan.KeyIs(token, name):
			case found != nil:
				return true
			default:
				found = value
			}
		}
		object = found
	}
	return false
}

// headerMismatch says how a header differs from what it must say; "" if it does not.
func (x *httpRequest) headerMismatch(name string, want []byte, optional bool) string {
	values := x.r.Header[name]
	switch {
	case len(values) == 0 && optional:
		return ""
	case len(values) == 0:
		return "is missing"
	case len(values) > 1:
		return "is there more than once"
	case values[0] != string(want):
		return "is not what the body says"
	}
	return ""
}

// encodedHeaderMismatch is differs for a header that may be in base64.
func (x *httpRequest) encodedHeaderMismatch(name string, want []byte) string {
	values := x.r.Header[name]
	if len(values) != 1 {
		return x.headerMismatch(name, want, false)
	}
	got, err := mcp.DecodeHeaderValue(values[0])
	switch {
	case err != nil:
		return err.Error()
	case got != string(want):
		return "is not what the body says"
	}
	return ""
}
