package streamable

import (
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A head is what a message says of itself that headers have to say too, or that settles its era. Its slices are of the message.
type head struct {
	version   []byte // in _meta; nil: not there, or no string
	complete  bool   // _meta has all that a modern request must have
	modern    bool   // _meta has something that only a modern request has
	arguments []byte
	subject   []byte // params.name, or what stands for it; nil: not there, or no string
}

// subjects are the methods whose subject goes into the Mcp-Name header, with the name of the param that it is. The tasks extension has those of tasks there too, but
// no rule that it must be there.
var subjects = map[string]struct {
	param    string
	required bool
}{
	mcp.MethodCallTool:     {"name", true},
	mcp.MethodGetPrompt:    {"name", true},
	mcp.MethodReadResource: {"uri", true},
	mcp.MethodGetTask:      {"taskId", false},
	mcp.MethodUpdateTask:   {"taskId", false},
	mcp.MethodCancelTask:   {"taskId", false},
}

// readHead looks for it. What is wrong with the params otherwise is the server's to say.
func readHead(m *rpc.Message) (h head) {
	subject := subjects[m.Method].param
	for token, value := range jsonscan.Members(m.Params) {
		switch {
		case jsonscan.KeyIs(token, "_meta"):
			var capable bool
			for token, value := range jsonscan.Members(value) {
				switch {
				case jsonscan.KeyIs(token, mcp.MetaProtocolVersion):
					h.modern = true
					h.version, _ = jsonscan.Unquote(value)
				case jsonscan.KeyIs(token, mcp.MetaClientCapabilities):
					h.modern = true
					capable = value[0] == '{'
				}
			}
			h.complete = capable && h.version != nil
		case jsonscan.KeyIs(token, "arguments"):
			h.arguments = value
		case subject != "" && jsonscan.KeyIs(token, subject):
			h.subject, _ = jsonscan.Unquote(value)
		}
	}
	return h
}

// isModern settles the era of a message: modern is what says so, in the header or in the body.
func (x *exchange) isModern(m *rpc.Message, h *head) bool {
	return h.modern || m.Method == mcp.MethodDiscover || mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern
}

// checkHeaders compares the headers of a modern request with its body (2026-07-28, basic/transports/streamable-http, Server Validation). A body that does not say what it
// must is not compared: the server says what is wrong with it.
func (x *exchange) checkHeaders(m *rpc.Message, h *head) *refusal {
	mismatch := func(format string, args ...any) *refusal {
		return refuse(http.StatusBadRequest, mcp.CodeHeaderMismatch, "Header mismatch: "+format, args...).to(m.ID)
	}
	if h.version == nil {
		return nil
	}
	optional := m.ID.IsZero() // what headers a notification must have is not said, but those that it has say the truth
	if why := x.differs(mcp.HeaderProtocolVersion, h.version, optional); why != "" {
		return mismatch("%s %s", mcp.HeaderProtocolVersion, why)
	}
	if mcp.Revision(h.version) != mcp.Latest || !h.complete && !optional {
		return nil // another revision may have other headers
	}
	if why := x.differs(mcp.HeaderMethod, []byte(m.Method), optional); why != "" {
		return mismatch("%s %s", mcp.HeaderMethod, why)
	}
	subject, has := subjects[m.Method]
	if !has || h.subject == nil || !subject.required && len(x.r.Header[mcp.HeaderName]) == 0 {
		return nil
	}
	if why := x.differsEncoded(mcp.HeaderName, h.subject); why != "" {
		return mismatch("%s %s", mcp.HeaderName, why)
	}
	if m.Method != mcp.MethodCallTool {
		return nil
	}
	for _, p := range x.Handler.server.Integration().HeaderParams(string(h.subject)) {
		values := x.r.Header[http.CanonicalHeaderKey(p.Header)]
		if len(values) > 1 {
			return mismatch("%s is there more than once", p.Header)
		}
		value := ""
		if len(values) > 0 {
			value = values[0]
		}
		if twice(h.arguments, p.Path) {
			return mismatch("the argument %s is there more than once", strings.Join(p.Path, "."))
		}
		if err := p.Check(value, len(values) > 0, h.arguments); err != nil {
			return mismatch("%v", err)
		}
	}
	return nil
}

// twice reports whether a member on a path is there more than once: another reader might take one that was not compared.
func twice(object []byte, path []string) bool {
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

// differs says how a header differs from what it must say; "" if it does not.
func (x *exchange) differs(name string, want []byte, optional bool) string {
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

// differsEncoded is differs for a header that may be in base64.
func (x *exchange) differsEncoded(name string, want []byte) string {
	values := x.r.Header[name]
	if len(values) != 1 {
		return x.differs(name, want, false)
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
