package streamable

import (
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A head is what a message says of itself that headers have to say too, or that settles its era. Its slices are of the message.
type messageMeta struct {
	version   []byte // in _meta; nil: not there, or no string
	complete  bool   // _meta has all that a modern request must have
	modern    bool   // _meta has something that only a modern request has
	arguments []byte
	subject   []byte // params.name, or what stands for it; nil: not there, or no string
}

// subjectParams are the methods whose subject goes into the Mcp-Name header, with the name of the param that it is. The tasks extension has those of tasks there too, but
// no rule that it must be there.
var subjectParams = map[string]struct {
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

// readMessageMeta looks for it. What is wrong with the params otherwise is the server's to say.
func readMessageMeta(m *rpc.Message) (h messageMeta) {
	subject := subjectParams[m.Method].param
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
func (x *httpRequest) isModern(m *rpc.Message, h *messageMeta) bool {
	return h.modern || m.Method == mcp.MethodDiscover || mcp.EraOf(mcp.Revision(x.header(mcp.HeaderProtocolVersion))) == mcp.Modern
}
