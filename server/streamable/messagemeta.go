package streamable

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A messageMeta has the parts of a message that determine its era or that headers must repeat. Its
// slices belong to the message.
type messageMeta struct {
	version   []byte // in _meta; nil: absent or not a string
	complete  bool   // _meta has every member that a modern request requires
	modern    bool   // _meta has a member that only modern requests have
	arguments []byte
	subject   []byte // params.name, uri or taskId; nil: absent or not a string
}

// readMessageMeta scans the params of a message. It ignores errors in them, which the server
// reports.
func readMessageMeta(m *rpc.Message) (h messageMeta) {
	method, _ := mcp.MethodAt(m.Method, mcp.Latest)
	subject := method.NameParam
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

// isModern reports whether a message is of the modern era, by its header or its body.
func (x *httpRequest) isModern(m *rpc.Message, h *messageMeta) bool {
	return h.modern || m.Method == mcp.MethodDiscover ||
		mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern
}
